# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, smem
from pyptx.types import bf16


@kernel(in_specs=(Tile(256, 256, bf16),), out_specs=(Tile(256, 256, bf16),))
def store(A, C):
    tile = smem.alloc(bf16, (64, 64), swizzle="128B")
    done = smem.mbarrier(1)
    ptx.cp.async_.bulk.tensor_2d(dst=C.tma_desc(), src=tile, coord=(0, 0), mbar=done[0])
    ptx.ret()


store.ptx()
