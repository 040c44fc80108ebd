# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def branch():
    lane = ptx.special.laneid()
    with ptx.if_(lane < "16"):
        ptx.trap()
    ptx.ret()


branch.ptx()
