# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32


@kernel(in_specs=(Tile("M", "N", f32),))
def load(X):
    x = reg.scalar(f32)
    ptx.ld(f32, x, ptx.at(X, 0.5))
    ptx.ret()


load.ptx(M=8, N=4)
