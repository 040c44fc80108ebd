# SPDX-License-Identifier: Apache-2.0
"""Every way to compute a product, on a hundred schedules, and on values that are hard on it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pyptx.kernels import GemmConfig, GemmProblem, build_gemm
from support.gemm_cases import CONFIGS, SMALL, check, operands
from support.packages import need
from support.schedules import emulated

torch = need("torch")

# With everything that an epilogue does, operands that lie the other way, and a batch.
OTHERS = {
    "epilogue": (
        GemmProblem(bias="bf16", activation="gelu", residual=True),
        GemmConfig(tile=(128, 64), cluster=(2, 1), ctas=4),
        (200, 72, 136),
        0,
    ),
    "epilogue, ping-pong": (
        GemmProblem(out="f32", bias="f32", activation="silu", residual=True),
        GemmConfig(tile=(64, 64), pingpong=True, **SMALL),
        (200, 136, 72),
        0,
    ),
    "epilogue, swap and split": (
        GemmProblem(bias="f32", activation="relu", residual=True),
        GemmConfig(
            tile=(64, 16), swap=True, warpgroups=1, split_k=2, stages=4, cluster=(1, 1), ctas=4
        ),
        (13, 136, 264),
        0,
    ),
    "batch of M-major by N-major": (
        GemmProblem("f16", "f16", "M", "N", batched=True),
        GemmConfig(tile=(128, 128), cluster=(2, 1), ctas=4),
        (136, 136, 88),
        2,
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_plain_products(name: str) -> None:
    config, sizes = CONFIGS[name]
    inputs, expected = operands(GemmProblem(), *sizes)
    check(emulated(build_gemm(GemmProblem(), config), *inputs), expected, "bf16")


@pytest.mark.parametrize("name", OTHERS)
def test_other_products(name: str) -> None:
    problem, config, sizes, batch = OTHERS[name]
    inputs, expected = operands(problem, *sizes, batch=batch)
    check(emulated(build_gemm(problem, config), *inputs), expected, problem.out)


@pytest.mark.parametrize("name", ["cooperative", "ping-pong", "split", "swap", "swap and split"])
def test_extreme_values(name: str) -> None:
    """Rows of zeros, of huge and of tiny numbers, with an infinity, with NaN: each on its own.

    The tails are ragged: what lies beyond a matrix is zero, and meets infinities in the sums.
    """
    config, sizes = CONFIGS[name]
    problem = GemmProblem(out="f32")
    (a, b), _ = operands(problem, *sizes)
    a[0] = 0
    a[1] *= 2.0**60
    a[2] *= 2.0**-60
    a[3, -1] = math.inf
    a[4, 0] = math.nan
    a[-1, 5] = -math.inf
    out = build_gemm(problem, config).emulate(a, b).double()
    expected = a.double() @ b.mT.double()
    assert torch.equal(out.isnan(), expected.isnan())
    infinite = expected.isinf()
    assert torch.equal(out[infinite], expected[infinite])
    assert infinite.sum() == 2 * sizes[1]
    assert (out[0] == 0).all()
    for row in range(sizes[0]):
        if expected[row].isfinite().all():
            largest = max(expected[row].abs().max().item(), 1e-300)
            error = (out[row] - expected[row]).abs().max().item()
            assert error <= 4e-6 * largest


@pytest.mark.parametrize("out", ["bf16", "f16"])
def test_sums_that_leave_the_type_of_the_result(out: str) -> None:
    """f32 sums of 2^20 are infinities in f16 and numbers in bf16."""
    a = torch.full((8, 64), 2.0**7, dtype=torch.float16 if out == "f16" else torch.bfloat16)
    b = a.clone()
    b[4:] = 2.0**-9
    config = GemmConfig(tile=(128, 64), **SMALL)
    found: Any = build_gemm(GemmProblem(dtype=out, out=out), config).emulate(a, b)
    assert torch.equal(found, (a.double() @ b.mT.double()).to(found.dtype))
    assert found.isinf().any() == (out == "f16")
