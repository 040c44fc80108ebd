# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=((64, 64),), out_specs=(Tile(64, 64, f32),))
def copy(X, Y):
    ptx.ret()


copy.ptx()
