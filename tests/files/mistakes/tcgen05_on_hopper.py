# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import u32


@kernel(arch="sm_90a")
def gemm():
    where = smem.alloc(u32, (1,))
    ptx.tcgen05.alloc(where, 128)
    ptx.ret()


gemm.ptx()
