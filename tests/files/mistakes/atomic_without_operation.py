# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32


@kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),))
def total(X, Y):
    _, target = ptx.global_ptrs(X, Y)
    old = reg.scalar(f32)
    ptx.inst.atom.global_.f32(old, ptx.addr(target), 1.0)
    ptx.ret()


total.ptx()
