# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def branch():
    lane = ptx.special.laneid()
    if lane == 0:
        ptx.trap()
    ptx.ret()


branch.ptx()
