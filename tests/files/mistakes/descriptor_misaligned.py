# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16


@kernel
def gemm():
    tile = smem.alloc(bf16, (64, 64), swizzle="128B")
    ptx.wgmma.make_descriptor(
        tile, leading_byte_offset=16, stride_byte_offset=1024, swizzle=1, addr_byte_offset=40
    )
    ptx.ret()


gemm.ptx()
