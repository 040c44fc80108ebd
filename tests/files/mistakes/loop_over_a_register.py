# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def each():
    n = reg.scalar(u32, 4)
    for i in n:
        ptx.inst.mov.u32(n, i)
    ptx.ret()


each.ptx()
