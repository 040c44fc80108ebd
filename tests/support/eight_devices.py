# SPDX-License-Identifier: Apache-2.0
"""Arrays on the devices of a mesh, and what a program moves between them.

For programs that have several devices: JAX counts them when it is first used.
"""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

RNG = np.random.default_rng(0)
ROWS, COLUMNS = 32, 32
X = RNG.standard_normal((ROWS, COLUMNS), dtype=np.float32)
W = RNG.standard_normal(COLUMNS, dtype=np.float32)


def mesh_of(kind: AxisType, shape: tuple[int, ...] = (8,)) -> Any:
    return jax.make_mesh(shape, ("d", "e")[: len(shape)], axis_types=(kind,) * len(shape))


def put(mesh: Any, x: Any, *spec: Any) -> Any:
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def gathers(function: Any, *args: Any) -> bool:
    """Whether the compiled program moves whole arrays between devices."""
    return re.search("all-gather|all-to-all", function.lower(*args).compile().as_text()) is not None


def collectives(function: Any, *args: Any) -> dict[str, int]:
    """How often the compiled program has each way to move arrays between devices."""
    text = function.lower(*args).compile().as_text()
    found = re.findall(r" (all-\w+|reduce-scatter|collective-\w+)(?:-start)?\(", text)
    return {name: found.count(name) for name in set(found)}


def added_up(function: Any, *args: Any) -> int:
    """How many arrays the compiled program adds up over devices, however they are combined."""
    text = function.lower(*args).compile().as_text()
    return sum(found.count("%") for found in re.findall(r" all-reduce(?:-start)?\(([^)]*)\)", text))
