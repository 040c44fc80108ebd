# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(out_specs=(Tile(8, f32),))
def fill(Y):
    ptx.ret()


fill()
