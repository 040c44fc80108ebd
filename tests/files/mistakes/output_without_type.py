# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N"),))
def copy(X, Y):
    ptx.ret()


copy.ptx(N=16)
