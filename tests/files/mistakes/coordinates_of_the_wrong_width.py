# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, u64


@kernel(in_specs=(Tile(256, 256, bf16),), out_specs=(Tile(256, 256, bf16),))
def load(A, C):
    tile = smem.alloc(bf16, (64, 64), swizzle="128B")
    full = smem.mbarrier(1)
    row = reg.scalar(u64, init=0)
    ptx.cp.async_.bulk.tensor_2d(dst=tile, src=A.tma_desc(), coord=(0, row), mbar=full[0])
    ptx.ret()


load.ptx()
