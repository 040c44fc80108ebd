# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, smem
from pyptx.types import f32


@kernel(in_specs=(Tile(1024, f32),), out_specs=(Tile(1024, f32),))
def load(X, Y):
    line = smem.alloc(f32, (25,))
    full = smem.mbarrier(1)
    source, _ = ptx.global_ptrs(X, Y)
    ptx.cp.async_.bulk.load(dst=line, src=source, bytes=100, mbar=full[0])
    ptx.ret()


load.ptx()
