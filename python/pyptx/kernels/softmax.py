# SPDX-License-Identifier: Apache-2.0
"""Softmax over rows, and its gradient.

A row is read once and stays in registers. Each warp takes its exponentials relative to its own
maximum, so that one exchange between warps gives both the maximum and the sum of the row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyptx import Tile, ptx, reg
from pyptx.kernels.elements import Words, dot, element_type, exponential, largest_of, total_of
from pyptx.kernels.norms import flat, floats
from pyptx.kernels.plans import Plan, plan_products, plan_softmax
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


class Exponentials:
    """The exponentials of a row: its maximum m, the sum of exp(x - m), and exp(x - m) themselves.

    They stay in registers, relative to the maximum m' of the warp, or are computed twice where the
    plan leaves a thread fewer registers than that takes.
    """

    def __init__(self, rows: Rows, words: list[Words]) -> None:
        plan = rows.plan
        width = min(plan.lanes, 32)
        self._words = words
        self._is_kept = plan.steps * plan.vector + 16 <= plan.registers
        values = floats(words)
        own = ptx.warp.reduce_max(largest_of(flat(values)), width=width)
        shift = _finite(own)
        self._kept = values if self._is_kept else floats(words)
        for value in flat(self._kept):
            exponential(value, value, shift)
        total = ptx.warp.reduce_sum(total_of(flat(self._kept)), width=width)
        self.largest, self.total = own, total
        self._shift, self._factor = shift, None
        if rows.is_one_warp:
            return
        peaks, totals = rows.gather([own, total])
        pairs = list(zip(peaks, totals, strict=True))
        largest = reg.scalar(f32)
        ptx.inst.mov.f32(largest, peaks[0])
        self.largest = rows.fold([largest, *peaks[1:]], "max")
        self._shift = _finite(self.largest)
        for peak, part in pairs:
            exponential(peak, peak, self._shift)
            ptx.inst.mul.f32(part, part, peak)
        self.total = rows.fold([part for _, part in pairs], "sum")
        self._factor = reg.scalar(f32)
        exponential(self._factor, own, self._shift)

    def times(self, scale: Any) -> list[list[Any]]:
        """Return exp(x - m) * scale, for each step's vector."""
        values = self._kept
        if not self._is_kept:
            values = floats(self._words)
            for value in flat(values):
                exponential(value, value, self._shift)
        elif self._factor is not None:
            scale = ptx.inst.mul.f32(reg.scalar(f32), scale, self._factor)
        for value in flat(values):
            ptx.inst.mul.f32(value, value, scale)
        return values


def build_softmax(
    columns: int, dtype: Any, *, plan: Plan | None = None, arch: str = "auto"
) -> Kernel:
    """Build y = exp(x - max(x)) / sum(exp(x - max(x))) for a (B, columns) input."""
    dtype = element_type(dtype)
    plan = plan or plan_softmax(columns, dtype)
    matrix = Tile("B", columns, dtype)

    @row_kernel("softmax", plan, {"X": matrix}, {"Y": matrix}, arch=arch)
    def softmax(rows: Rows, px: Any, py: Any) -> None:
        def body(row: Any, words: Any) -> None:
            found = Exponentials(rows, words)
            scale = ptx.inst.rcp.approx.ftz.f32(reg.scalar(f32), found.total)
            rows.store(row, py, found.times(scale))

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
