# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def between():
    lane = ptx.special.laneid()
    with ptx.if_(2 < lane < 30):
        ptx.trap()
    ptx.ret()


between.ptx()
