# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def branch():
    with ptx.if_(
        ptx.special.laneid() & 1,
    ):
        ptx.comment("odd lanes")
        ptx.trap()
    ptx.ret()


branch.ptx()
