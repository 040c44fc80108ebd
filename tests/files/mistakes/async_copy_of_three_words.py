# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, smem
from pyptx.types import f32


@kernel(arch="sm_80", in_specs=(Tile(1024, f32),), out_specs=(Tile(1024, f32),))
def load(X, Y):
    line = smem.alloc(f32, (1024,))
    source, _ = ptx.global_ptrs(X, Y)
    ptx.cp.async_.ca(line, source, 12)
    ptx.ret()


load.ptx()
