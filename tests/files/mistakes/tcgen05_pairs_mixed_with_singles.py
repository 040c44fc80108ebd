# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import u32


@kernel(arch="sm_100a", cluster=(2, 1, 1))
def gemm():
    where = smem.alloc(u32, (1,))
    ptx.tcgen05.alloc(where, 128, cta_group=2)
    ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
    ptx.ret()


gemm.ptx()
