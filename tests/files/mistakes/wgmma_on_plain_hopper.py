# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_90")
def gemm():
    ptx.wgmma.fence()
    ptx.ret()


gemm.ptx()
