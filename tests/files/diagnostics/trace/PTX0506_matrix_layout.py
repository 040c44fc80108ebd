# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import bf16, f16, f32


@kernel
def k():
    ptx.wgmma.mma_async(
        shape=(64, 64, 16),
        dtype_d=f32,
        dtype_a=f16,
        dtype_b=f16,
        d=reg.array(f32, 32),
        a=smem.wgmma_tile(bf16, (64, 64)),
        b=smem.wgmma_tile(f16, (64, 64)),
    )
    ptx.ret()


k.ptx()
