# SPDX-License-Identifier: Apache-2.0
import torch

from pyptx import Tile, jax_support, torch_support
from pyptx.types import f32

text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
torch_support.call_kernel_via_torch(
    torch.ones(8),
    cubin_handle=jax_support.get_cubin_registry().register(text, ""),
    out_specs=(Tile("N", f32),),
    out_shape_env={"N": 8},
    grid=(1, 1, 1),
    block=(8, 1, 1),
)
