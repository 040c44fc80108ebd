# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def where():
    ptx.sreg("%ctaidx.x")
    ptx.ret()


where.ptx()
