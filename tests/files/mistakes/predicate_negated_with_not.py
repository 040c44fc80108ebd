# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def neither():
    lane = ptx.special.laneid()
    with ptx.if_(not lane < 2):
        ptx.trap()
    ptx.ret()


neither.ptx()
