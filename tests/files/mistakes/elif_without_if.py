# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def choose():
    lane = ptx.special.laneid()
    with ptx.elif_(lane == 1):
        lane += 3
    ptx.ret()


choose.ptx()
