# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(inout_specs=(Tile("B", 4, f32),), batch="B")
def k(A):
    ptx.ret()
