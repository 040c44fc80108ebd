# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def loop():
    lane = ptx.special.laneid()
    ptx.label("loop")
    lane -= 1
    ptx.bra("lop", pred=lane > 0)
    ptx.ret()


loop.ptx()
