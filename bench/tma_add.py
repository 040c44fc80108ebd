# SPDX-License-Identifier: Apache-2.0
"""Addition of one tile through three tensor maps: what a launch with descriptors costs."""

from __future__ import annotations

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.kernel import Kernel
from pyptx.types import f32, u32

ROWS = 16
COLUMNS = 64
BYTES = ROWS * COLUMNS * 4


def build_tma_add(tma: str) -> Kernel:
    """Z = X + Y for 16 x 64 elements; `tma` is the form of the descriptors."""
    tile = Tile(ROWS, COLUMNS, f32, tma_box=(ROWS, COLUMNS))

    @kernel(
        in_specs=(tile, tile),
        out_specs=(tile,),
        grid=(1, 1, 1),
        block=(128, 1, 1),
        arch="sm_90a",
        tma=tma,
    )
    def tma_add(X, Y, Z):
        x, y = (smem.alloc(f32, (ROWS, COLUMNS)) for _ in range(2))
        bar = smem.mbarrier(1)
        tid = reg.from_(ptx.special.tid.x(), u32)
        bulk = ptx.cp.async_.bulk
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(bar[0], 1)
            ptx.fence.mbarrier_init()
            ptx.mbarrier.arrive_expect_tx(bar[0], 2 * BYTES)
            bulk.tensor_2d(dst=x, src=X.tma_desc(), coord=(0, 0), mbar=bar[0])
            bulk.tensor_2d(dst=y, src=Y.tma_desc(), coord=(0, 0), mbar=bar[0])
        ptx.bar.sync(0)
        ptx.mbarrier.wait(bar[0], 0)
        for i in range(ROWS * COLUMNS // 128):
            index = tid + i * 128
            row, column = index >> 6, index & (COLUMNS - 1)
            x[row, column] = x[row, column] + y[row, column]
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(0)
        with ptx.if_(tid == 0):
            bulk.tensor.store_2d(dst=Z.tma_desc(), src=x, coord=(0, 0))
            bulk.commit_group()
            bulk.wait_group(0)
        ptx.ret()

    return tma_add
