# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def loop():
    for _ in ptx.rang_(0, 8):
        ptx.trap()
    ptx.ret()


loop.ptx()
