# SPDX-License-Identifier: Apache-2.0
"""The examples that copy asynchronously give the same, right bits on a hundred schedules.

So do those in C++: their texts are the same, as tests/package/test_cpp_examples.py says.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.example_modules import example
from support.packages import need
from support.schedules import emulated


def bf16(*shape: int) -> Any:
    torch = need("torch")
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).bfloat16()


def error(found: Any, expected: Any) -> float:
    return float((found.double() - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize(("length", "depth", "causal"), [(300, 64, True), (130, 128, False)])
def test_attention(length, depth, causal):
    torch = need("torch")
    attention = example("hopper/attention")
    q, k, v = (bf16(1, length, depth) for _ in range(3))
    o = emulated(attention.build_attention(depth, causal=causal), q, k, v)
    expected = attention.reference(*(x.float().numpy() for x in (q, k, v)), causal=causal)
    assert error(o, torch.from_numpy(expected)) < 8e-3


@pytest.mark.parametrize("path", ["hopper/gemm", "ampere/mma_tile"])
def test_products(path):
    m, n, k = (130, 129, 200) if path == "hopper/gemm" else (32, 48, 64)
    a, b = bf16(m, k), bf16(n, k)
    kernel = getattr(example(path), f"build_{path.partition('/')[2]}")()
    assert error(emulated(kernel, a, b), a.double() @ b.double().T) < 1e-5
