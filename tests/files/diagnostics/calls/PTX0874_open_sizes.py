# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(
    in_specs=(Tile("M", f32),),
    out_specs=(Tile("M", f32),),
    grid=lambda M: (len(range(M)),),
    dynamic=("M",),
)
def fill(X, Y):
    ptx.ret()


fill.save("fill.pyptx")
