# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def k():
    for _ in ptx.range_(0, 4):
        break
    ptx.ret()


k.ptx()
