# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def skip():
    ptx.kloop(16, unroll=4, body=lambda k: ptx.continue_(pred=k == 3))
    ptx.ret()


skip.ptx()
