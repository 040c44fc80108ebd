# SPDX-License-Identifier: Apache-2.0
"""A kernel of the samples as what the handle-based functions take."""

from __future__ import annotations

from typing import Any

from pyptx import Tile
from pyptx.jax_support import (
    get_cubin_registry,
    register_launch_config,
)
from pyptx.types import f32
from support import sample_kernels
from support.packages import need

torch = need("torch")


def vector_add_handle(n: int) -> tuple[int, dict[str, Any]]:
    text = sample_kernels.build_vector_add().ptx(N=n)
    grid, block = ((n + 127) // 128, 1, 1), (128, 1, 1)
    handle = get_cubin_registry().register(text, "vector_add", grid=grid, block=block)
    register_launch_config(handle, 0, grid, block)
    out = {"out_specs": [Tile("N", f32)], "out_shape_env": {"N": n}}
    return handle, {**out, "grid": grid, "block": block}
