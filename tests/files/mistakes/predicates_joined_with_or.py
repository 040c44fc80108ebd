# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def either():
    lane = ptx.special.laneid()
    with ptx.if_(lane < 2 or lane > 30):
        ptx.trap()
    ptx.ret()


either.ptx()
