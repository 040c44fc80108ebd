# SPDX-License-Identifier: Apache-2.0
import torch

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),))
def fill(X, Y, *, value=0.0):
    ptx.ret()


torch.vmap(lambda x: fill(x, value=object))(torch.ones(8, 1))
