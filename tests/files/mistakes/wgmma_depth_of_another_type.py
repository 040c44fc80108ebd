# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import e4m3, f32


@kernel
def gemm():
    acc = reg.wgmma_frag(m=64, n=64, dtype=f32)
    a = smem.wgmma_tile(e4m3, (64, 128))
    b = smem.wgmma_tile(e4m3, (64, 128))
    ptx.wgmma.mma_async(
        shape=(64, 64, 16), dtype_d=f32, dtype_a=e4m3, dtype_b=e4m3, d=acc, a=a, b=b
    )
    ptx.ret()


gemm.ptx()
