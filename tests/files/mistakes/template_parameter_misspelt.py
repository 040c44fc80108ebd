# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def copy(X, Y, *, BLOCK=128):
    ptx.ret()


copy.ptx(N=1024, BLOKC=64)
