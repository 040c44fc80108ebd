# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, smem
from pyptx.specs import Layout
from pyptx.types import bf16


@kernel(in_specs=(Tile(128, 64, bf16, layout=Layout.TMA_128B, tma_box=(64, 64)),))
def k(X):
    tile = smem.alloc(bf16, (64, 64), swizzle="128B", name="tile")
    full = smem.mbarrier(1)
    ptx.mbarrier.arrive_expect_tx(full[0], 64 * 64)
    ptx.cp.async_.bulk.tensor_2d(dst=tile, src=X.tma_desc(), coord=(0, 0), mbar=full[0])
    ptx.ret()


k.ptx()
