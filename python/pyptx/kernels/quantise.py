# SPDX-License-Identifier: Apache-2.0
"""Rows to fp8, each with a scale of its own: x is close to q * scale.

The largest |q| of a row is the largest number of the format. Groups of columns with scales of their
own are rows of a reshaped matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx import Tile, ptx, reg
from pyptx.kernels.elements import element_type, largest_of
from pyptx.kernels.norms import flat
from pyptx.kernels.plans import Plan, plan_quantise
from pyptx.kernels.row_kernel import row_kernel
from pyptx.kernels.rows import Rows
from pyptx.types import e4m3, e5m2, f32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

LARGEST = {e4m3: 448.0, e5m2: 57344.0}
SMALLEST = 1e-30  # what a row of zeros is scaled by


def build_quantise(
    columns: int, dtype: Any, *, to: Any = e4m3, plan: Plan | None = None, arch: str = "auto"
) -> Kernel:
    """Build x -> (q, scale), scale the largest |x| of the row over the largest number of `to`."""
    dtype = element_type(dtype)
    if to not in LARGEST:
        raise TypeError(f"rows are quantised to e4m3 or e5m2, not {to}")
    if columns % 4:
        raise ValueError(f"the columns that share a scale are a multiple of 4, not {columns}")
    plan = plan or plan_quantise(columns, dtype)

    @row_kernel(
        "quantise",
        plan,
        {"X": Tile("B", columns, dtype)},
        {"Q": Tile("B", columns, to), "Scale": Tile("B", f32)},
        arch=arch,
    )
    def quantise(rows: Rows, px: Any, pq: Any, ps: Any) -> None:
        def body(row: Any, words: Any) -> None:
            x = [each.floats() for each in words]
            sizes = [ptx.inst.abs.f32(reg.scalar(f32), value) for value in flat(x)]
            (largest,) = rows.max([largest_of(sizes)])
            ptx.inst.max.f32(largest, largest, SMALLEST)
            scale, factor = reg.scalar(f32), reg.scalar(f32)
            ptx.inst.div.rn.f32(scale, largest, LARGEST[to])
            ptx.inst.div.rn.f32(factor, LARGEST[to], largest)
            rows.store_scalar(row, ps, scale)
            results = [
                [ptx.inst.mul.f32(reg.scalar(f32), value, factor) for value in vector]
                for vector in x
            ]
            rows.store(row, pq, results, to)

        rows.run((px,), body)

    return quantise
