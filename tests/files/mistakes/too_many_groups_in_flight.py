# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def gemm():
    ptx.wgmma.wait_group(8)
    ptx.ret()


gemm.ptx()
