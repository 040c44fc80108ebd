# SPDX-License-Identifier: Apache-2.0
"""The row kernels against float64, on every division of a row, without races on 102 schedules.

A division of a long row is tested on short ones: plans are given, and the machine is made small so
that groups that stay have several rows.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import TargetError
from pyptx.kernels import plans
from pyptx.kernels.columns import build_column_sums
from pyptx.kernels.cross_entropy import build_cross_entropy
from pyptx.kernels.norms import build_norm
from pyptx.kernels.norms_backward import build_norm_backward
from pyptx.kernels.plans import divided, streamed
from pyptx.kernels.quantise import build_quantise
from pyptx.kernels.rotary import build_rotary
from pyptx.kernels.softmax import build_softmax, build_softmax_backward
from pyptx.kernels.swiglu import build_swiglu, build_swiglu_backward
from pyptx.types import bf16, e4m3, e5m2, f16, f32, s32, s64
from support import row_references as reference
from support.assembling import assemble
from support.packages import need
from support.row_checks import close, exact, named, random, small_machine, tensor
from support.schedules import FEW, SCHEDULES, emulated

torch = need("torch")
__all__ = ["small_machine"]  # a fixture, of which groups that stay have several rows

# A part of a warp with several rows at once, a warp, warps, a cluster; whole and ragged rows, and
# rows whose vectors are narrow.
ONCE = [
    divided(48, bf16, 8, 64, groups=8, each=2),
    divided(33, f32, 8, 64, groups=8, each=3),
    divided(256, f16, 32, 32, groups=2),
    divided(1000, f32, 64, 64),
    divided(520, bf16, 64, 64, groups=2),
    divided(1100, bf16, 32, 8),
    divided(77, f16, 32, 1),
    divided(2056, f32, 64, 16),
    divided(2056, bf16, 64, 64, waves=20),  # few registers: exponentials are computed twice
    divided(1000, f32, 64, 16, ahead=True),
    divided(2056, bf16, 32, 16, each=2, ahead=True),
]
# Rows that start anywhere, in vectors of 16 bytes: a part of a warp with several rows at once, of
# one vector, warps, clusters, whose last CTA has a part of a vector, or none.
RAGGED = [
    divided(77, bf16, 8, 64, groups=4, each=2, ragged=True),
    divided(9, f16, 8, 8, groups=4, ragged=True),
    divided(5, f32, 8, 8, groups=4, ragged=True),
    divided(515, f32, 64, 64, ragged=True),
    divided(1023, f16, 32, 16, ragged=True),
    divided(1026, bf16, 32, 16, ragged=True),
    divided(770, f32, 32, 8, ragged=True, waves=20),
]
# CTAs that share a row and have nothing to tell each other.
APART = divided(1100, bf16, 32, 8, meets=False)
# Groups that stay: in warps, in several warps, in clusters; the last CTA of one has nothing.
STREAMED = [
    streamed(divided(256, bf16, 32, 8, groups=4), 2),
    streamed(divided(1000, f32, 64, 16, groups=2), 2, stages=3),
    streamed(divided(77, f16, 32, 4, groups=4), 2),
    streamed(divided(2056, bf16, 64, 16), 2),
    streamed(divided(1032, f32, 64, 8), 2, stages=3),
]


once = pytest.mark.parametrize("plan", ONCE, ids=named)
every = pytest.mark.parametrize("plan", ONCE + STREAMED, ids=named)
alone = pytest.mark.parametrize("plan", ONCE + STREAMED + RAGGED, ids=named)


@every
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_norms(plan: Any, kind: str) -> None:
    n, dtype = plan.columns, plan.dtype
    x = tensor(reference.hard_rows(6, n), dtype)
    w, b = (tensor(random(n, seed=seed), dtype) for seed in (2, 3))
    weights = (w, b) if kind == "layer" else (w,)
    y = emulated(build_norm(kind, n, dtype, eps=1e-5, plan=plan), x, *weights)
    expected = getattr(reference, f"{kind}_norm")(*map(exact, (x, *weights)))
    close(y, expected, dtype, 4.0)  # x + 100 has two digits fewer of its distances


@pytest.mark.parametrize("plan", [ONCE[3], ONCE[5], STREAMED[3]], ids=named)
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_norms_of_a_sum(plan: Any, kind: str) -> None:
    n, dtype = plan.columns, plan.dtype
    x, residual = (tensor(random(5, n, seed=seed), dtype) for seed in (1, 2))
    w, b = (tensor(random(n, seed=seed), f32) for seed in (2, 3))  # of a type of their own
    weights = (w, b) if kind == "layer" else (w,)
    k = build_norm(kind, n, dtype, eps=1e-5, weight=f32, residual=True, plan=plan)
    y, total = emulated(k, x, residual, *weights)
    assert torch.equal(total, (x.float() + residual.float()).to(x.dtype))
    close(y, getattr(reference, f"{kind}_norm")(*map(exact, (total, *weights))), dtype)


@pytest.mark.parametrize("plan", STREAMED, ids=named)
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_gradients_of_norms(plan: Any, kind: str, residual: bool) -> None:
    n, dtype = plan.columns, plan.dtype
    x, g, h = (tensor(random(7, n, seed=seed), dtype) for seed in (1, 2, 3))
    w = tensor(random(n, seed=4), dtype)
    grads = (g, h) if residual else (g,)
    options = {"eps": 1e-5, "residual": residual, "plan": plan}
    backward = build_norm_backward(kind, n, dtype, **options)
    parts = plan.clusters(7)
    assert parts < 7, "groups that stay have several rows"
    emulated(backward.kernel, x, w, *grads, P=parts)
    found = backward(x, w, *grads)
    dx, dw, db = reference.norm_gradients(kind, *map(exact, (x, w, g)))
    close(found[0], dx + exact(h) if residual else dx, dtype)
    rest = found[2:] if residual else found[1:]
    assert len(rest) == (2 if kind == "layer" else 1)
    for got, expected in zip(rest, (dw, db), strict=False):
        close(got, expected, dtype)


def test_column_sums_are_in_order() -> None:
    for parts, n, dtype in ((1, 5, f32), (16, 32, bf16), (37, 100, f32), (150, 33, bf16)):
        x = torch.from_numpy(random(parts, n)).float()
        y = emulated(build_column_sums(dtype), x)
        close(y, exact(x).sum(0), dtype)


@alone
def test_softmax(plan: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    x = reference.hard_rows(7, n)
    x[4, n // 2] = -math.inf
    x[5] = -math.inf
    x[6, n - 1] = math.inf
    x = tensor(x, dtype)
    y = emulated(build_softmax(n, dtype, plan=plan), x)
    close(y, reference.softmax(exact(x)), dtype)


@pytest.mark.parametrize("plan", RAGGED, ids=named)
def test_ragged_rows_start_anywhere(plan: Any) -> None:
    """Inputs and outputs, each at any distance from a multiple of 16 bytes."""
    n, dtype, rows = plan.columns, plan.dtype, 3
    softmax = build_softmax(n, dtype, plan=plan)
    loss_of = build_cross_entropy(n, dtype, gradient=True, plan=plan)
    targets = torch.tensor([0, n - 1, n // 2])
    g = torch.ones(rows)
    whole = tensor(random(rows * n + 16), dtype)
    places = range(0, 16 * 8 // dtype.bits, 1 if n < 600 else 3)
    for at, (first, second) in enumerate((a, b) for a in places for b in places):
        x = whole[first : first + rows * n].view(rows, n)
        room = torch.full_like(whole, 7.0)
        y = room[second : second + rows * n].view(rows, n)
        softmax.emulate(x, out=y, seed=at)
        close(y, reference.softmax(exact(x)), dtype)
        assert (room[:second] == 7).all()
        assert (room[second + rows * n :] == 7).all()
        losses = torch.zeros(rows)
        same = x.clone() if second != first else room[first : first + rows * n].view(rows, n)
        same.copy_(x)
        loss_of.emulate(same, targets, g, out=(losses, same), seed=at)  # in place
        expected, gradient = reference.cross_entropy(exact(x), targets.numpy(), exact(g))
        close(losses[:, None], expected[:, None], f32)
        close(same, gradient, dtype)


@every
def test_gradient_of_softmax(plan: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    y = tensor(reference.softmax(random(5, n)), dtype)
    g = tensor(random(5, n, seed=2), dtype)
    dx = emulated(build_softmax_backward(n, dtype, plan=plan), y, g)
    close(dx, reference.softmax_gradient(exact(y), exact(g)), dtype)


@alone
@pytest.mark.parametrize("kind", [s32, s64])
def test_cross_entropy(plan: Any, kind: Any) -> None:
    n, dtype = plan.columns, plan.dtype
    x = tensor(reference.hard_rows(8, n), dtype)
    x[4, : n // 2] = -math.inf
    whole = torch.int32 if kind is s32 else torch.int64
    targets = torch.tensor([0, n - 1, n // 2, -100, n - 2, 7, n, 1], dtype=whole)
    g = torch.from_numpy(random(8)).float()
    schedules = FEW if kind is s32 else SCHEDULES
    alone = build_cross_entropy(n, dtype, gradient=False, target=kind, plan=plan)
    loss = emulated(alone, x, targets, schedules=schedules)
    both = build_cross_entropy(n, dtype, gradient=True, target=kind, plan=plan)
    same, dx = emulated(both, x, targets, g, schedules=schedules)
    assert torch.equal(loss, same)
    expected, gradient = reference.cross_entropy(exact(x), targets.numpy(), exact(g))
    close(loss[:, None], expected[:, None], f32)
    close(dx, gradient, dtype)


@pytest.mark.parametrize("plan", [*ONCE, APART], ids=named)
@pytest.mark.parametrize("packed", [False, True])
def test_swiglu(plan: Any, packed: bool) -> None:
    n, dtype = plan.columns, plan.dtype
    gate, up, g = (tensor(random(5, n, seed=seed) * 3, dtype) for seed in (1, 2, 3))
    inputs = (torch.cat([gate, up], 1),) if packed else (gate, up)
    schedules = FEW if packed else SCHEDULES
    y = emulated(build_swiglu(n, dtype, packed=packed, plan=plan), *inputs, schedules=schedules)
    close(y, reference.swiglu(exact(gate), exact(up)), dtype)
    backward = build_swiglu_backward(n, dtype, packed=packed, plan=plan)
    found = emulated(backward, *inputs, g, schedules=schedules)
    found = (found[:, :n], found[:, n:]) if packed else found
    for got, expected in zip(
        found, reference.swiglu_gradients(*map(exact, (gate, up, g))), strict=True
    ):
        close(got, expected, dtype)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("heads", "size", "dtype"), [(4, 64, bf16), (3, 24, f32), (2, 6, f16)])
def test_rotary(heads: int, size: int, dtype: Any, interleaved: bool) -> None:
    x = tensor(random(2, 5, heads, size), dtype)
    angle = random(5, size // 2, seed=2)
    cos, sin = tensor(np.cos(angle), f32), tensor(np.sin(angle), f32)
    y = emulated(build_rotary(heads, size, dtype, interleaved=interleaved), x, cos, sin)
    expected = reference.rotary(*map(exact, (x, cos, sin)), interleaved)
    close(y, expected, dtype)
    back = build_rotary(heads, size, dtype, interleaved=interleaved, inverse=True)
    close(emulated(back, y, cos, sin), exact(x), dtype, 2.0)


@pytest.mark.parametrize("plan", [p for p in ONCE if p.columns % 4 == 0], ids=named)
@pytest.mark.parametrize(("to", "most", "step"), [(e4m3, 448.0, 2**-4), (e5m2, 57344.0, 2**-3)])
def test_quantise(plan: Any, to: Any, most: float, step: float) -> None:
    n, dtype = plan.columns, plan.dtype
    x = tensor(reference.hard_rows(5, n), dtype)
    q, scale = emulated(build_quantise(n, dtype, to=to, plan=plan), x)
    close(scale[:, None], np.maximum(np.abs(exact(x)).max(-1), 1e-30)[:, None] / most, f32)
    q = q.to(torch.float32)
    assert q.abs().max() == most
    restored = exact(q) * exact(scale)[:, None]
    largest = np.abs(exact(x)).max(-1, keepdims=True)
    assert (np.abs(restored - exact(x)) <= np.abs(exact(x)) * step + largest * 2**-15).all()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_shipped_kernels_assemble(arch: str, tmp_path: Path) -> None:
    texts = [
        build_norm("rms", 4096, bf16, eps=1e-5, arch=arch).ptx(B=8),
        build_softmax(1000, f16, arch=arch).ptx(B=8),
        build_swiglu_backward(4096, f32, packed=True, arch=arch).ptx(B=8),
        build_rotary(8, 128, bf16, arch=arch).ptx(B=2, S=8),
    ]
    if arch != "sm_80":
        backward = build_norm_backward("layer", 4096, bf16, eps=1e-5, arch=arch)
        texts += [
            backward.kernel.ptx(B=8, P=2),
            build_cross_entropy(50257, bf16, gradient=True, arch=arch).ptx(B=8),
            build_quantise(4096, f32, arch=arch).ptx(B=8),
        ]
    for text in texts:
        assemble(text, arch, tmp_path)


def test_a_target_without_clusters_is_refused() -> None:
    with pytest.raises(TargetError, match="needs sm_90 or later, the target is sm_80"):
        build_softmax(65536, f32, arch="sm_80").ptx(B=8)


def test_a_plan_that_cannot_be_is_refused() -> None:
    four = divided(1028, bf16, 32, 16, ragged=True)
    for make, message in (
        (lambda: divided(0, f32, 32, 8), "1 to 131072 columns"),
        (lambda: divided(1 << 18, f32, 256, 64), "1 to 131072 columns"),
        (lambda: divided(1 << 17, f32, 128, 64), "128 threads hold at most 65536 columns"),
        (lambda: divided(64, f32, 24, 8), "power of two"),
        (lambda: divided(4096, f32, 16, 8), "power of two, 32 or more in a cluster"),
        (lambda: divided(4096, f32, 32, 64, groups=2), "one group"),
        (lambda: streamed(divided(64, f32, 8, 8, groups=4), 1), "whole warps"),
        (lambda: build_norm("batch", 64, f32, eps=0.0), "'rms' or 'layer'"),
        (lambda: build_quantise(6, f32), "multiple of 4"),
        (lambda: build_rotary(2, 7, f32), "even"),
        (lambda: build_softmax(1100, bf16, plan=APART, arch="sm_90a").ptx(B=1), "never meet"),
        (lambda: streamed(RAGGED[4], 1), "whole vectors"),
        (lambda: build_softmax_backward(515, f32, plan=RAGGED[3]).ptx(B=1), "several matrices"),
        (lambda: build_norm("rms", 515, f32, eps=0.0, plan=RAGGED[3]).ptx(B=1), "no columns"),
        (lambda: build_quantise(1028, bf16, plan=four).ptx(B=1), "one element type"),
        (lambda: divided(3, f32, 32, 8, ragged=True), "4 columns or more, not 3"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="f32, bf16, f16"):
        divided(64, s32, 32, 8)
    with pytest.raises(TypeError, match="e4m3 or e5m2"):
        build_quantise(64, f32, to=f16)


def test_shipped_plans_have_room() -> None:
    """Every number of columns has a plan whose ring fits, up to 131,072 and no further."""
    makers = [
        plans.plan_rows,
        plans.plan_elements,
        plans.plan_products,
        plans.plan_quantise,
        plans.plan_softmax,
        plans.plan_cross_entropy,
        *(lambda n, t, kind=kind: plans.plan_norms(kind, n, t, False) for kind in ("rms", "layer")),
        lambda n, t: plans.plan_norms("rms", n, t, True),
        *(
            lambda n, t, kind=kind, inputs=inputs: plans.plan_sums(kind, n, t, inputs)
            for kind in ("rms", "layer")
            for inputs in (2, 3)
        ),
    ]
    sizes = [1, 3, 128, 1000, 1024, 4096, 5120, 8192, 16384, 16392, 32768, 50257, 65536, 128256]
    for make in makers:
        for dtype in (f32, bf16, f16):
            for columns in (*sizes, plans.MOST_COLUMNS):
                plan = make(columns, dtype)
                assert plan.threads <= 1024
                assert plan.ctas <= 8
                assert plan.clusters(10**6) >= 1
            with pytest.raises(ValueError, match="1 to 131072 columns"):
                make(plans.MOST_COLUMNS + 1, dtype)
