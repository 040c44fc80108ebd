# SPDX-License-Identifier: Apache-2.0
"""The emulator finds no race, missing wait or missing fence in the Hopper examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import testing
from support.example_modules import example
from support.packages import need

SCHEDULES = [(0, "latest"), (1, "earliest"), *((seed, "random") for seed in range(2, 6))]


def floats(*shape: int) -> Any:
    """Random numbers, the same each time."""
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def rows(name: str) -> tuple[Any, list[Any]]:
    """A kernel that works on the rows of a matrix, with its inputs."""
    kernel = getattr(example(f"hopper/{name}"), f"build_{name}")(
        4, 500 if name != "rms_norm" else 512
    )
    inputs = {
        "rms_norm": [floats(4, 512), floats(512)],
        "layer_norm": [floats(4, 500), floats(500), floats(500)],
        "softmax": [floats(4, 500)],
        "swiglu": [floats(4, 500), floats(4, 500)],
    }
    return kernel, inputs[name]


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax", "swiglu"])
def test_rows(name: str) -> None:
    kernel, inputs = rows(name)
    testing.emulate(kernel, *inputs, schedules=SCHEDULES)


@pytest.mark.parametrize("tma", ["value", "pointer"])
@pytest.mark.parametrize("name", ["gemm", "clustered_gemm"])
def test_gemm(name: str, tma: str) -> None:
    torch = need("torch")
    kernel = getattr(example(f"hopper/{name}"), f"build_{name}")(tma=tma)
    for m, n, k in ((128, 128, 512), (130, 129, 200)):
        a, b = (torch.from_numpy(floats(size, k)).to(torch.bfloat16) for size in (m, n))
        testing.emulate(kernel, a, b, schedules=SCHEDULES)


def test_grouped_gemm() -> None:
    torch = need("torch")
    sizes, n, k = (5, 0, 130, 1), 72, 136
    offsets = torch.tensor([0, *np.cumsum(sizes)], dtype=torch.int32)
    kernel = example("hopper/grouped_gemm").build_grouped_gemm(len(sizes))
    x = torch.from_numpy(floats(sum(sizes), k)).to(torch.bfloat16)
    w = torch.from_numpy(floats(len(sizes), n, k)).to(torch.bfloat16)
    testing.emulate(kernel, x, w, offsets, schedules=SCHEDULES)
