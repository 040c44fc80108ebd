# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, differentiable_kernel, kernel, ptx
from pyptx.types import f32


@kernel(inout_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),))
def k(A, Y):
    ptx.ret()


differentiable_kernel(k, k)
