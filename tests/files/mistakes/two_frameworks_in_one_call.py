# SPDX-License-Identifier: Apache-2.0
import numpy as np
import torch

from pyptx import Tile, kernel, ptx
from pyptx.types import f32


@kernel(in_specs=(Tile("N", f32), Tile("N", f32)), out_specs=(Tile("N", f32),), grid=lambda N: (N,))
def add(X, Y, Z):
    ptx.ret()


add(torch.zeros(16), np.zeros(16, np.float32))
