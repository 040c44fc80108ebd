# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, smem
from pyptx.types import bf16


@kernel(arch="sm_80", in_specs=(Tile(256, 256, bf16),), out_specs=(Tile(256, 256, bf16),))
def load(A, C):
    tile = smem.alloc(bf16, (64, 64))
    full = smem.mbarrier(1)
    ptx.cp.async_.bulk.tensor_2d(dst=tile, src=A.tma_desc(), coord=(0, 0), mbar=full[0])
    ptx.ret()


load.ptx()
