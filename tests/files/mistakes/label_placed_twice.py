# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def tail(*, PARTS=2):
    for _ in range(PARTS):
        ptx.bra("done")
        ptx.label("done")
    ptx.ret()


tail.ptx()
