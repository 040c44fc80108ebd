# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def offset():
    base = reg.scalar(u32, init=0)
    base += 1 << 32
    ptx.ret()


offset.ptx()
