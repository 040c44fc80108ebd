# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16, u32


@kernel(arch="sm_100a")
def gemm():
    where = smem.alloc(u32, (1,))
    base = smem.load(u32, where)
    a = smem.wgmma_tile(bf16, (128, 64))
    b = smem.wgmma_tile(bf16, (256, 64))
    shape = ptx.tcgen05.make_instr_desc_f16bf16_f32(m=128, n=256, ab_dtype="bf16")
    ptx.tcgen05.mma(base, a, b, shape, kind="tf32")
    ptx.ret()


gemm.ptx()
