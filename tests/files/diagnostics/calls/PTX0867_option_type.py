# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def copy(X, Y):
    ptx.ret()


copy.emulate(np.zeros(8, np.float32), report="yes")
