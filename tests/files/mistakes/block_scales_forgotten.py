# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import e4m3, u32


@kernel(arch="sm_100a")
def gemm():
    where = smem.alloc(u32, (1,))
    base = smem.load(u32, where)
    a = smem.wgmma_tile(e4m3, (128, 128))
    b = smem.wgmma_tile(e4m3, (128, 128))
    shape = ptx.tcgen05.make_instr_desc_mxf8f6f4(m=128, n=128)
    ptx.tcgen05.mma(base, a, b, shape, kind="mxf8f6f4")
    ptx.ret()


gemm.ptx()
