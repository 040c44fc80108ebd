# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    raw_params=[("f32", "alpha")],
    grid=lambda N: (N,),
)
def scale(X, Y):
    ptx.ret()


scale(np.zeros(16, np.float32))
