# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(inout_specs=(Tile(4, f32),))
def k(A):
    ptx.ret()


a = np.zeros(4, np.float32)
a.flags.writeable = False
k(a)
