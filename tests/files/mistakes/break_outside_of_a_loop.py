# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def leave():
    lane = ptx.special.laneid()
    with ptx.if_(lane == 0):
        ptx.break_()
    ptx.ret()


leave.ptx()
