# SPDX-License-Identifier: Apache-2.0
import torch

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def copy(X, Y):
    ptx.ret()


copy(torch.ones(8, requires_grad=True), out=torch.ones(8))
