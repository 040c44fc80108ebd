# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import u32


@kernel(out_specs=(Tile(4, u32),), out_init=0.5)
def k(Y):
    ptx.ret()
