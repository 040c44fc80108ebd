# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile("N", 64, f32),), out_specs=(Tile("N", f32),), grid=lambda N: (N,))
def reduce(X, Y):
    ptx.ret()


reduce(np.zeros((16, 32), np.float32))
