# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile(4, f32),), out_init=0)
def k(X):
    ptx.ret()
