# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(
    in_specs=(Tile("M", "K", f32), Tile("K", "N", f32)),
    out_specs=(Tile("M", "N", f32),),
    grid=lambda M, N: (M, N),
)
def gemm(A, B, C):
    ptx.ret()


gemm(np.zeros((64, 32), np.float32), np.zeros((48, 64), np.float32))
