# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, smem
from pyptx.types import bf16


@kernel(in_specs=(Tile(4, 256, 256, bf16),), out_specs=(Tile(4, 256, 256, bf16),))
def load(A, C):
    tile = smem.alloc(bf16, (64, 64), swizzle="128B")
    full = smem.mbarrier(1)
    row, column = ptx.special.ctaid.x(), ptx.special.ctaid.y()
    ptx.cp.async_.bulk.tensor_3d(dst=tile, src=A.tma_desc(), coord=(column, row), mbar=full[0])
    ptx.ret()


load.ptx()
