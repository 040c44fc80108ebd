# SPDX-License-Identifier: Apache-2.0
import torch

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile("N", f32), Tile("N", f32)), out_specs=(Tile("N", f32),), grid=lambda N: (N,))
def add(X, Y, Z):
    ptx.ret()


add(torch.zeros(16), torch.zeros(16, device="meta"))
