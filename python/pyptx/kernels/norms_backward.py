# SPDX-License-Identifier: Apache-2.0
"""The gradients of RMSNorm and LayerNorm.

With x' the normalised row, r = 1 / sqrt(mean square + eps) and s = g * w:

    dx = r * (s - x' * mean(s * x'))                        rms
    dx = r * (s - mean(s) - x' * mean(s * x'))              layer

and dw is the sum of g * x' over the rows, db that of g. r is computed anew: the row is read
anyway. CTAs stay and take row after row; each leaves its part of dw and db.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyptx import Tile, ptx, reg
from pyptx._call.divides import Divides
from pyptx.kernels import checks
from pyptx.kernels.columns import build_column_sums, store_parts
from pyptx.kernels.elements import Words, dot, element_type
from pyptx.kernels.norms import Moments, Values, centred, flat, floats, inverse_root
from pyptx.kernels.plans import Plan, plan_sums
from pyptx.kernels.row_kernel import row_kernel
from pyptx.kernels.rows import Rows
from pyptx.types import f32


def build_norm_backward(
    kind: str,
    columns: int,
    dtype: Any,
    *,
    eps: float,
    weight: Any = None,
    residual: bool = False,
    plan: Plan | None = None,
    arch: str = "auto",
) -> Callable[..., Any]:
    """Build (x, w, gy[, gx]) -> (dx, dw[, db]) for (B, columns) inputs.

    With `residual`, x is what the forward kernel stored, gx is the gradient of that, and dx is the
    gradient of both of its addends.
    """
    dtype = element_type(dtype)
    weight = dtype if weight is None else element_type(weight)
    weights = 1 + (kind == "layer")
    plan = plan or plan_sums(kind, columns, dtype, 2 + residual)
    matrix, part = Tile("B", columns, dtype), Tile("P", columns, f32)
    add_up = build_column_sums(weight, arch)

    @row_kernel(
        f"{kind}_norm_backward",
        plan,
        {
            "X": matrix,
            "W": Tile(columns, weight),
            "GY": matrix,
            **({"GX": matrix} if residual else {}),
        },
        {"DX": matrix, "PartsW": part, **({"PartsB": part} if kind == "layer" else {})},
        arch=arch,
        batch=None,
        dynamic=("B", "P"),
    )
    def norm_backward(rows: Rows, px: Any, pw: Any, *pointers: Any) -> None:
        inputs, (pdx, *parts) = (px, *pointers[: 1 + residual]), pointers[1 + residual :]
        w = rows.load_columns(pw, weight)
        totals = [
            [[reg.scalar(f32, init=0.0) for _ in range(plan.vector)] for _ in w]
            for _ in range(weights)
        ]

        def scaled(g: Values) -> Values:
            """Return g * w."""
            return [
                [
                    ptx.inst.mul.f32(reg.scalar(f32), grad, scale)
                    for grad, scale in zip(grads, words.floats(), strict=True)
                ]
                for grads, words in zip(g, w, strict=True)
            ]

        def body(row: Any, x_words: Any, g_words: list[Words], *more: list[Words]) -> None:
            s = flat(scaled(floats(g_words)))
            mean, shift = None, []
            if kind == "layer":
                moments = Moments(rows, x_words, s)
                mean, squares, slope = moments.mean, moments.squares, moments.products
                shift = [moments.total]
            else:
                x = flat(floats(x_words))
                squares, slope = rows.sum([dot(x, x), dot(s, x)])
            for each in (slope, *shift):
                ptx.inst.mul.f32(each, each, 1.0 / columns)
            rstd = inverse_root(squares, columns, eps)
            ptx.inst.mul.f32(slope, slope, rstd)
            g = floats(g_words)
            s_again = scaled(g)
            results = []
            for step, vector in enumerate(centred(rows, x_words, mean)):
                addends = [each[step].again().floats() for each in more]
                found = []
                for index, value in enumerate(vector):
                    normal = ptx.inst.mul.f32(reg.scalar(f32), value, rstd)
                    total = totals[0][step][index]
                    ptx.inst.fma.rn.f32(total, g[step][index], normal, total)
                    ptx.inst.mul.f32(normal, normal, slope)
                    result = ptx.inst.sub.f32(reg.scalar(f32), s_again[step][index], normal)
                    if shift:
                        ptx.inst.sub.f32(result, result, shift[0])
                        bias = totals[1][step][index]
                        ptx.inst.add.f32(bias, bias, g[step][index])
                    if addends:
                        ptx.inst.fma.rn.f32(result, result, rstd, addends[0][index])
                    else:
                        ptx.inst.mul.f32(result, result, rstd)
                    found.append(result)
                results.append(found)
            rows.store(row, pdx, results)

        rows.run(inputs, body)
        store_parts(rows, parts, totals)

    def backward(x: Any, w: Any, *grads: Any) -> tuple[Any, ...]:
        clusters = plan.clusters(x.shape[0])
        if checks.are_numbers(clusters):
            dx, *found = norm_backward(x, w, *grads, P=clusters)
        else:  # of a graph for any number of rows, in which a keyword would be one number
            import torch

            sums = [x.new_empty((clusters, columns), dtype=torch.float32) for _ in range(weights)]
            dx, *found = norm_backward(x, w, *grads, out=(x.new_empty(x.shape), *sums))
        dx_twice = (dx, dx) if residual else (dx,)
        return (*dx_twice, *[add_up(part) for part in found])

    vector = Tile(columns, weight, partial="B")
    backward.kernel = norm_backward  # type: ignore[attr-defined]
    backward.divides = Divides(  # type: ignore[attr-defined]
        f"{kind}_norm_backward",
        (matrix, Tile(columns, weight), *(matrix,) * (1 + residual)),
        (*(matrix,) * (1 + residual), *(vector,) * weights),
    )
    return backward
