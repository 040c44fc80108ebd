# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def smallest():
    a, b = reg.scalar(u32, 1), reg.scalar(u32, 2)
    c = min(a, b)
    ptx.inst.mov.u32(a, c)
    ptx.ret()


smallest.ptx()
