# SPDX-License-Identifier: Apache-2.0
"""What a function of several launches says of itself, as a kernel does by its Tiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyptx._kept import Kept
from pyptx.specs import Tile


@dataclass(frozen=True, slots=True, eq=False)
class Divides:
    """That a function on arrays may be called on parts of a batch, as `kernel(batch=...)` says.

    The attribute `divides` of a backward function: a sharded program of JAX then calls it on each
    device's part, and adds up the outputs that are `partial`.
    """

    name: str
    in_specs: tuple[Tile, ...]
    out_specs: tuple[Tile, ...]
    batch: str = "B"
    #: The jitted function that calls it, made by _jax.batching.
    functions: Kept[Any, Any] = field(default_factory=lambda: Kept(1))
