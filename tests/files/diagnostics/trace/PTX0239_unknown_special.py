# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def k():
    ptx.sreg("%thread")
    ptx.ret()


k.ptx()
