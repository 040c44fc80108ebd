# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def barrier():
    ptx.syncthreads()
    ptx.ret()


barrier.ptx()
