# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def choose():
    lane = ptx.special.laneid()
    with ptx.if_(lane == 0):
        x = lane + 1
    with ptx.else_():
        x = lane + 2
    ptx.inst.mov.u32(lane, x)
    ptx.ret()


choose.ptx()
