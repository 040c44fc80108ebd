# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import bf16, f32


@kernel
def gemm():
    acc = reg.wgmma_frag(m=64, n=64, dtype=f32)
    a = smem.wgmma_tile(bf16, (64, 64))
    b = smem.wgmma_tile(bf16, (64, 64))
    ptx.wgmma.mma_async(
        shape=(64, 64, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=acc, a=a, b=b, trans_a=1
    )
    ptx.ret()


gemm.ptx()
