# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def branch():
    lane = ptx.special.laneid()
    with ptx.if_(lane == 0):
        ptx.comment("first lane")
    total = lane + 1
    with ptx.else_():
        total += 1
    ptx.ret()


branch.ptx()
