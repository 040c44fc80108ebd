# SPDX-License-Identifier: Apache-2.0
"""Configurations of matrix products, operands for them, and how right a result has to be."""

from __future__ import annotations

from typing import Any

from pyptx.kernels import GemmConfig, GemmProblem
from support.packages import need

torch = need("torch")

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}


SMALL = {"cluster": (1, 1), "ctas": 3}


# Each with sizes that leave ragged tails and several rounds of tiles.
CONFIGS = {
    "cooperative": (GemmConfig(ctas=2), (700, 264, 200)),
    "cluster along columns": (GemmConfig(tile=(128, 64), cluster=(1, 2), ctas=4), (200, 200, 136)),
    "cluster both ways": (GemmConfig(tile=(128, 64), cluster=(2, 2), ctas=4), (300, 200, 136)),
    "high tile": (GemmConfig(tile=(256, 64), cluster=(2, 1), ctas=4), (500, 72, 136)),
    "odd tile": (GemmConfig(tile=(128, 96), **SMALL), (130, 200, 200)),
    "narrow blocks": (GemmConfig(tile=(128, 80), **SMALL), (130, 168, 72)),
    "ping-pong": (GemmConfig(tile=(128, 64), pingpong=True, **SMALL), (300, 200, 200)),
    "ping-pong, short K": (GemmConfig(tile=(64, 64), pingpong=True, **SMALL), (300, 200, 40)),
    "ping-pong cluster": (GemmConfig(tile=(64, 64), pingpong=True, ctas=4), (300, 200, 264)),
    "split": (GemmConfig(tile=(128, 64), split_k=3, **SMALL), (130, 72, 520)),
    "split, sums everywhere": (GemmConfig(tile=(128, 64), split_k=2, ctas=4), (200, 72, 328)),
    "swap": (GemmConfig(tile=(128, 24), swap=True, stages=6, **SMALL), (20, 392, 200)),
    "swap and split": (
        GemmConfig(
            tile=(64, 16), swap=True, warpgroups=1, split_k=4, stages=6, cluster=(1, 1), ctas=4
        ),
        (13, 136, 520),
    ),
}


def operands(problem: GemmProblem, m: int, n: int, k: int, batch: int = 0) -> tuple[list[Any], Any]:
    """Return the inputs of a product and what it is in float64."""
    lead = (batch,) if batch else ()
    made = torch.Generator().manual_seed(m + 31 * n + 7 * k)

    def normal(*shape: int, dtype: str) -> Any:
        return torch.randn(*lead, *shape, generator=made).to(TYPES[dtype])

    a = normal(*((m, k) if problem.a_major == "K" else (k, m)), dtype=problem.dtype)
    b = normal(*((n, k) if problem.b_major == "K" else (k, n)), dtype=problem.dtype)
    left = a.double() if problem.a_major == "K" else a.mT.double()
    right = b.mT.double() if problem.b_major == "K" else b.double()
    inputs, expected = [a, b], left @ right
    if problem.bias:
        inputs.append(torch.randn(n, generator=made).to(TYPES[problem.bias]))
        expected = expected + inputs[-1].double()
    expected = ACTIVATIONS[problem.activation](expected)
    if problem.residual:
        inputs.append(normal(m, n, dtype=problem.out))
        expected = expected + inputs[-1].double()
    return inputs, expected


def check(out: Any, expected: Any, kind: str) -> None:
    """Hold the largest difference against the largest value; f32 sums are exact beside it."""
    bound = {"f32": 2e-6, "f16": 1e-3, "bf16": 6e-3}[kind]
    assert torch.isfinite(out).all()
    assert ((out.double() - expected).abs().max() / expected.abs().max()).item() < bound
