# SPDX-License-Identifier: Apache-2.0
"""RMSNorm and LayerNorm over rows, plain or with a residual added first.

    y = x / sqrt(mean(x^2) + eps) * w                       rms
    y = (x - mean(x)) / sqrt(var(x) + eps) * w + b          layer

A row is read once and stays in registers. The variance is the mean of the squared distances from
the mean, so that rows with a large mean lose nothing. With a residual, x + residual is rounded to
the elements' type, normalised and stored too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx import Tile, ptx, reg
from pyptx.kernels.elements import Words, dot, element_type, total_of
from pyptx.kernels.plans import Plan, plan_norms
from pyptx.kernels.row_kernel import row_kernel
from pyptx.kernels.rows import Rows
from pyptx.types import f32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

Values = list[list[Any]]  # f32 registers, a list for each step's vector


def flat(vectors: Values) -> list[Any]:
    """Return all values of a thread."""
    return [value for vector in vectors for value in vector]


def floats(vectors: list[Words]) -> Values:
    """Return the values of a row, loaded again where that saves registers."""
    return [words.again().floats() for words in vectors]


class Moments:
    """The mean of a row, the sum of squared distances from it, and that of distances times `s`.

    Each warp takes the distances from its own mean; what the warps found is put together in one
    exchange, without a difference of large sums, so that a large mean costs no digits.
    """

    def __init__(self, rows: Rows, x: list[Words], s: list[Any] | None = None) -> None:
        width = min(rows.plan.lanes, 32)
        own = ptx.warp.reduce_sum(total_of(flat(floats(x))), width=width)
        count = rows.count_in_warp()
        divisor = ptx.inst.max.f32(reg.scalar(f32), count, 1.0)  # a warp may have none
        ptx.inst.div.full.f32(own, own, divisor)
        distances = flat(centred(rows, x, own))
        found = [own, dot(distances, distances)]
        if s is not None:
            found += [dot(s, distances), total_of(s)]
        for value in found[1:]:
            ptx.warp.reduce_sum(value, width=width)
        if not rows.is_one_warp:
            found = _together(rows, found, count)
        self.mean, self.squares, *rest = found
        self.products: Any = rest[0] if rest else None
        self.total: Any = rest[1] if rest else None


def _together(rows: Rows, found: list[Any], count: Any) -> list[Any]:
    """Return the moments of the row from those of its warps."""
    means, squares, *rest, counts = rows.gather([*found, count])
    weighted = [
        ptx.inst.mul.f32(reg.scalar(f32), mean, n) for mean, n in zip(means, counts, strict=True)
    ]
    mean = rows.fold(weighted, "sum")
    ptx.inst.mul.f32(mean, mean, 1.0 / rows.plan.columns)
    for index, own in enumerate(means):
        ptx.inst.sub.f32(own, own, mean)
        if rest:
            ptx.inst.fma.rn.f32(rest[0][index], own, rest[1][index], rest[0][index])
        ptx.inst.mul.f32(counts[index], counts[index], own)
        ptx.inst.fma.rn.f32(squares[index], own, counts[index], squares[index])
    return [mean, *[rows.fold(parts, "sum") for parts in (squares, *rest)]]


def centred(rows: Rows, x: list[Words], mean: Any) -> Values:
    """Return the distances from the mean, zeros beyond the row; the values for no mean."""
    if mean is None:
        return floats(x)
    distances = []
    for vector, inside in zip(floats(x), rows.columns, strict=True):
        found = [ptx.inst.sub.f32(reg.scalar(f32), value, mean) for value in vector]
        if inside is not None:
            for value in found:
                ptx.inst.selp.f32(value, value, 0.0, inside)
        distances.append(found)
    return distances


def inverse_root(total: Any, columns: int, eps: float) -> Any:
    """Return 1 / sqrt(total / columns + eps), in the register of the total."""
    ptx.inst.fma.rn.f32(total, total, 1.0 / columns, eps)
    return ptx.inst.rsqrt.approx.f32(total, total)


def added(rows: Rows, x: list[Words], residual: list[Words]) -> list[Words]:
    """Return x + residual, rounded to the elements' type."""
    sums = []
    for left, right in zip(x, residual, strict=True):
        words = Words(rows.plan.dtype, rows.plan.vector)
        words.set(
            [
                ptx.inst.add.f32(reg.scalar(f32), a, b)
                for a, b in zip(left.floats(), right.floats(), strict=True)
            ]
        )
        sums.append(words)
    return sums


def build_norm(
    kind: str,
    columns: int,
    dtype: Any,
    *,
    eps: float,
    weight: Any = None,
    residual: bool = False,
    plan: Plan | None = None,
    arch: str = "auto",
) -> Kernel:
    """Build the kernel (x[, residual], w[, b]) -> y, or (y, x + residual), for (B, columns) inputs.

    `kind` is "rms" or "layer", which has b; `weight` is the type of w and b, by default `dtype`.
    """
    if kind not in ("rms", "layer"):
        raise ValueError(f"a norm is 'rms' or 'layer', not {kind!r}")
    dtype = element_type(dtype)
    weight = dtype if weight is None else element_type(weight)
    plan = plan or plan_norms(kind, columns, dtype, residual)
    matrix, vector = Tile("B", columns, dtype), Tile(columns, weight)
    weights = {"W": vector, "Bias": vector} if kind == "layer" else {"W": vector}

    @row_kernel(
        f"{kind}_norm",
        plan,
        {"X": matrix, **({"Residual": matrix} if residual else {}), **weights},
        {"Y": matrix, **({"Sum": matrix} if residual else {})},
        arch=arch,
    )
    def norm(rows: Rows, *pointers: Any) -> None:
        inputs, others = pointers[: 1 + residual], pointers[1 + residual :]
        scales, outputs = others[: len(weights)], others[len(weights) :]

        def load_weights() -> list[list[Words]]:
            return [rows.load_columns(pointer, weight) for pointer in scales]

        kept = load_weights() if plan.stages else []

        def body(row: Any, *words: list[Words]) -> None:
            if plan.ahead and not kept:
                kept.extend(load_weights())
            x = added(rows, *words) if residual else words[0]
            if residual:
                rows.store_words(row, outputs[1], x)
            mean: Any = None
            if kind == "layer":
                moments = Moments(rows, x)
                mean, squares = moments.mean, moments.squares
            else:
                values = flat(floats(x))
                (squares,) = rows.sum([dot(values, values)])
            rstd = inverse_root(squares, columns, eps)
            shared = kept or load_weights()
            if kind == "layer":  # x' = x * rstd - mean * rstd
                ptx.inst.mul.f32(mean, mean, rstd)
                ptx.inst.neg.f32(mean, mean)
            results = []
            for step, vector in enumerate(floats(x)):
                factors = [each[step].floats() for each in shared]
                found = []
                for index, value in enumerate(vector):
                    result = reg.scalar(f32)
                    if kind == "layer":
                        ptx.inst.fma.rn.f32(result, value, rstd, mean)
                        ptx.inst.fma.rn.f32(result, result, factors[0][index], factors[1][index])
                    else:
                        ptx.inst.mul.f32(result, value, rstd)
                        ptx.inst.mul.f32(result, result, factors[0][index])
                    found.append(result)
                results.append(found)
            rows.store(row, outputs[0], results)

        rows.run(inputs, body)

    return norm
