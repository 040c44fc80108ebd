# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def loop(*, UNROLL=0):
    for _ in ptx.range_(0, 128, UNROLL):
        ptx.trap()
    ptx.ret()


loop.ptx()
