# SPDX-License-Identifier: Apache-2.0
"""The row kernels on zeros, infinities, NaN, huge and tiny numbers, with ragged tails, on a hundred
schedules: what float64 says, also where that is no number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pyptx.kernels.cross_entropy import build_cross_entropy
from pyptx.kernels.norms import build_norm
from pyptx.kernels.norms_backward import build_norm_backward
from pyptx.kernels.plans import divided, streamed
from pyptx.kernels.quantise import build_quantise
from pyptx.kernels.rotary import build_rotary
from pyptx.kernels.softmax import build_softmax_backward
from pyptx.kernels.swiglu import build_swiglu, build_swiglu_backward
from pyptx.types import bf16, e4m3, f16, f32, s64
from support import row_references as reference
from support.packages import need
from support.row_checks import close, exact, named, random, small_machine, tensor
from support.schedules import SCHEDULES, emulated

torch = need("torch")
__all__ = ["small_machine"]  # a fixture, of which groups that stay have several rows

# Ragged: the last thread, warp or CTA has less than the others.
PLANS = [
    divided(44, bf16, 8, 64, groups=8, each=2),
    divided(1000, f32, 64, 64),
    divided(1100, bf16, 32, 8),
    streamed(divided(1032, f32, 64, 8), 2, stages=3),
]
plan_of = pytest.mark.parametrize("plan", PLANS, ids=named)
HUGE = 2.0**40  # its square is no infinity in f32


def extreme(plan: Any, seed: int = 0) -> Any:
    """Return rows of the kinds of `hard_rows`, and huge ones, and ones with infinities and NaN."""
    x = reference.hard_rows(9, plan.columns, seed)
    x[4] *= HUGE
    x[5] /= HUGE
    x[6, plan.columns // 2] = math.inf
    x[7, -1] = -math.inf
    x[8, 0] = math.nan
    return tensor(x, plan.dtype)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        yield


@plan_of
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_norms(plan: Any, kind: str) -> None:
    n, dtype = plan.columns, plan.dtype
    x = extreme(plan)
    w, b = (tensor(random(n, seed=seed), dtype) for seed in (2, 3))
    weights = (w, b) if kind == "layer" else (w,)
    y = emulated(build_norm(kind, n, dtype, eps=1e-5, plan=plan), x, *weights)
    close(y, getattr(reference, f"{kind}_norm")(*map(exact, (x, *weights))), dtype, 4.0)


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.stages], ids=named)
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_gradients_of_norms(plan: Any, kind: str) -> None:
    n, dtype = plan.columns, plan.dtype
    x, g = extreme(plan)[:6], tensor(random(6, n, seed=1), dtype)
    w = tensor(random(n, seed=2), dtype)
    backward = build_norm_backward(kind, n, dtype, eps=1e-5, plan=plan)
    dx = emulated(backward.kernel, x, w, g, P=plan.clusters(6))[0]
    wanted = reference.norm_gradients(kind, *map(exact, (x, w, g)))
    # Rows far from zero have lost digits in x itself; the others have all.
    close(dx, wanted[0], dtype, 8.0)
    for found, expected in zip(backward(x, w, g)[1:], wanted[1:], strict=False):
        close(found, expected, dtype, 8.0)


@plan_of
def test_gradient_of_softmax(plan: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    y = np.zeros((4, n))
    y[0, n // 2] = 1  # all of it in one place
    y[1] = 1 / n
    y[2:] = reference.softmax(random(2, n) * 30)
    y, g = tensor(y, dtype), extreme(plan)[[2, 4, 7, 6]]
    dx = emulated(build_softmax_backward(n, dtype, plan=plan), y, g)
    expected = reference.softmax_gradient(exact(y), exact(g))
    scale = np.abs(exact(y) * exact(g)).max(-1)
    finite = np.isfinite(scale)
    error = np.abs(exact(dx) - expected).max(-1)
    assert (error[finite] <= 4 * reference.TOLERANCE[dtype.name] * scale[finite]).all()
    assert (np.isfinite(exact(dx)) == np.isfinite(expected)).all()


@plan_of
def test_cross_entropy(plan: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    x = extreme(plan)
    x[5] = -math.inf
    x[7, n // 3] = 5.0
    targets = torch.tensor([n - 1, 0, 3, -100, n - 1, 2, 4, n // 3, 1])
    g = torch.from_numpy(random(9)).float()
    both = build_cross_entropy(n, dtype, gradient=True, target=s64, plan=plan)
    loss, dx = emulated(both, x, targets, g)
    wanted, gradient = reference.cross_entropy(exact(x), targets.numpy(), exact(g))
    close(loss[:, None], wanted[:, None], f32)
    close(dx, gradient, dtype)


@plan_of
def test_a_gradient_in_place_of_the_logits(plan: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    x, targets = tensor(random(4, n), dtype), torch.tensor([n - 1, 0, -100, n // 2])
    g = torch.from_numpy(random(4)).float()
    kernel = build_cross_entropy(n, dtype, gradient=True, target=s64, plan=plan)
    losses, gradient = kernel.emulate(x, targets, g)
    for seed, schedule in SCHEDULES:
        logits, found = x.clone(), torch.empty(4)
        kernel.emulate(logits, targets, g, out=(found, logits), seed=seed, schedule=schedule)
        assert torch.equal(found, losses)
        assert torch.equal(logits, gradient)


@pytest.mark.parametrize("plan", [plan for plan in PLANS if not plan.stages], ids=named)
def test_swiglu(plan: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    gate, up, g = (tensor(random(9, n, seed=seed), dtype) for seed in (1, 2, 3))
    for row, value in enumerate((0.0, 30.0, -30.0, 100.0, -100.0, 1e30, -1e30, math.inf)):
        gate[row, row::8] = value
    up[8, ::2] = 0.0
    y = emulated(build_swiglu(n, dtype, plan=plan), gate, up)
    close(y, reference.swiglu(exact(gate), exact(up)), dtype)
    found = emulated(build_swiglu_backward(n, dtype, plan=plan), gate, up, g)
    wanted = reference.swiglu_gradients(*map(exact, (gate, up, g)))
    for got, expected in zip(found, wanted, strict=True):
        close(got, expected, dtype)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary(interleaved: bool) -> None:
    x = random(1, 6, 3, 24)
    x[0, 0], x[0, 1, :, 3], x[0, 2] = 0, math.inf, x[0, 2] * HUGE
    x[0, 3], x[0, 4, :, 5] = x[0, 3] / HUGE, math.nan
    x = tensor(x, f32)
    angle = random(6, 12, seed=2)
    angle[5] = 0
    cos, sin = tensor(np.cos(angle), f32), tensor(np.sin(angle), f32)
    y = emulated(build_rotary(3, 24, f32, interleaved=interleaved), x, cos, sin)
    expected = reference.rotary(*map(exact, (x, cos, sin)), interleaved)
    infinite = np.isinf(expected)
    assert (exact(y)[infinite] == expected[infinite]).all()
    close(y[~torch.from_numpy(infinite)], expected[~infinite], f32)


@pytest.mark.parametrize("plan", [*PLANS, divided(260, f16, 32, 8)], ids=named)
def test_quantise(plan: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    x = reference.hard_rows(6, n)
    if dtype is not f16:
        x[4] *= HUGE
        x[5] /= HUGE
    x = tensor(x, dtype)
    q, scale = emulated(build_quantise(n, dtype, to=e4m3, plan=plan), x)
    largest = np.maximum(np.abs(exact(x)).max(-1, keepdims=True), 1e-30)
    close(scale[:, None], largest / 448.0, f32)
    restored = exact(q.to(torch.float32)) * exact(scale)[:, None]
    assert (np.abs(restored - exact(x)) <= np.abs(exact(x)) * 2**-4 + largest * 2**-15).all()
