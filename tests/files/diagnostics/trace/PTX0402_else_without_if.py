# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def k():
    with ptx.else_():
        ptx.trap()
    ptx.ret()


k.ptx()
