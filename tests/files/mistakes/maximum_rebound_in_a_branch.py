# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def largest():
    a, b = reg.scalar(u32, 0), ptx.special.laneid()
    with ptx.if_(b > 4):
        a = a.max(b)
    ptx.inst.mov.u32(b, a)
    ptx.ret()


largest.ptx()
