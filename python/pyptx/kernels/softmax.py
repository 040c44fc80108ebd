# SPDX-License-Identifier: Apache-2.0
"""Softmax over rows, and its gradient.

A row is read once and stays in registers. Each warp takes its exponentials relative to its own
maximum, so that one exchange between warps gives both the maximum and the sum of the row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyptx import Tile, ptx, reg
from pyptx.kernels.elements import dot, element_type, exponential, largest_of, total_of
from pyptx.kernels.norms import flat
from pyptx.kernels.plans import Plan, plan_products, plan_rows
from pyptx.kernels.row_kernel import row_kernel
from pyptx.kernels.rows import Rows
from pyptx.types import f32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def _finite(value: Any) -> Any:
    """Return the value, 0 for minus infinity: what is taken off before an exponential."""
    result = reg.scalar(f32)
    ptx.inst.selp.f32(result, value, 0.0, value > -math.inf)
    return result


def exponentials(rows: Rows, x: list[Any]) -> tuple[Any, Any, Any]:
    """Turn the values into exponentials, in place; beyond the row they are minus infinity.

    Returns the maximum m of the row, the sum of exp(x - m), and exp(m' - m), with m' the maximum of
    this warp: what to multiply the values with to have exp(x - m).
    """
    own = ptx.warp.reduce_max(largest_of(x), width=min(rows.plan.lanes, 32))
    shift = _finite(own)
    for value in x:
        exponential(value, value, shift)
    total = ptx.warp.reduce_sum(total_of(x), width=min(rows.plan.lanes, 32))
    if rows.is_one_warp:
        return own, total, None
    peaks, totals = rows.gather([own, total])
    pairs = list(zip(peaks, totals, strict=True))
    largest = reg.scalar(f32)
    ptx.inst.mov.f32(largest, peaks[0])
    largest = rows.fold([largest, *peaks[1:]], "max")
    shift = _finite(largest)
    factor = reg.scalar(f32)
    for peak, part in pairs:
        exponential(peak, peak, shift)
        ptx.inst.mul.f32(part, part, peak)
    exponential(factor, own, shift)
    return largest, rows.fold([part for _, part in pairs], "sum"), factor


def build_softmax(
    columns: int, dtype: Any, *, plan: Plan | None = None, arch: str = "auto"
) -> Kernel:
    """Build y = exp(x - max(x)) / sum(exp(x - max(x))) for a (B, columns) input."""
    dtype = element_type(dtype)
    plan = plan or plan_rows(columns, dtype)
    matrix = Tile("B", columns, dtype)

    @row_kernel("softmax", plan, {"X": matrix}, {"Y": matrix}, arch=arch)
    def softmax(rows: Rows, px: Any, py: Any) -> None:
        def body(row: Any, words: Any) -> None:
            x = [each.floats() for each in words]
            _, total, factor = exponentials(rows, flat(x))
            ptx.inst.rcp.approx.ftz.f32(total, total)
            if factor is not None:
                ptx.inst.mul.f32(total, total, factor)
            for value in flat(x):
                ptx.inst.mul.f32(value, value, total)
            rows.store(row, py, x)

        rows.run((px,), body, fill=-math.inf)

    return softmax


def build_softmax_backward(
    columns: int, dtype: Any, *, plan: Plan | None = None, arch: str = "auto"
) -> Kernel:
    """Build (y, g) -> y * (g - sum(g * y)), y the softmax itself."""
    dtype = element_type(dtype)
    plan = plan or plan_products(columns, dtype)
    matrix = Tile("B", columns, dtype)

    @row_kernel("softmax_backward", plan, {"Y": matrix, "G": matrix}, {"DX": matrix}, arch=arch)
    def softmax_backward(rows: Rows, py: Any, pg: Any, pdx: Any) -> None:
        def body(row: Any, y_words: Any, g_words: Any) -> None:
            y, g = ([each.floats() for each in words] for words in (y_words, g_words))
            (product,) = rows.sum([dot(flat(y), flat(g))])
            for value, grad in zip(flat(y), flat(g), strict=True):
                ptx.inst.sub.f32(grad, grad, product)
                ptx.inst.mul.f32(grad, grad, value)
            rows.store(row, pdx, g)

        rows.run((py, pg), body)

    return softmax_backward
