# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def k():
    ptx.bra("DONE")
    ptx.ret()


k.ptx()
