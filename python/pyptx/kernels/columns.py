# SPDX-License-Identifier: Apache-2.0
"""Sums over rows, one for each column: parts by the CTAs of one kernel, added up by another.

Every sum is taken in one order, so that the same inputs give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.kernels.elements import Words
from pyptx.types import f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.kernels.rows import Rows

ACROSS = 32  # columns of a CTA
DOWN = 16  # threads that share a column
AT_ONCE = 9  # parts that a thread loads before it adds them: 132 CTAs have 144 or fewer at once


def store_parts(
    rows: Rows, pointers: Sequence[Any], totals: Sequence[Sequence[Sequence[Any]]]
) -> None:
    """Store this CTA's sums over the rows it had, as a row of each (clusters, columns) matrix.

    `totals` are f32 sums of this thread: for each matrix, each step's vector. The groups of the CTA
    add theirs up in shared memory first.
    """
    plan = rows.plan
    flat = [value for vectors in totals for values in vectors for value in values]
    if rows.group is not None:
        shape = (plan.groups - 1, len(flat), plan.lanes)
        others = smem.alloc(f32, shape, name="others").address() + rows.lane * 4
        with ptx.if_(rows.group != 0):
            mine = others + (rows.group - 1) * (len(flat) * plan.lanes * 4)
            for index, value in enumerate(flat):
                smem.store(f32, ptx.addr(mine, index * plan.lanes * 4), value)
        ptx.bar.sync(0)
        ptx.bar.sync(0)  # for racecheck 13.0 alone: it loses one behind the barriers of groups
        for group in range(plan.groups - 1):
            for index, value in enumerate(flat):
                place = ptx.addr(others, (group * len(flat) + index) * plan.lanes * 4)
                ptx.inst.add.f32(value, value, smem.load(f32, place))
    is_first = None if rows.group is None else rows.group == 0
    for pointer, vectors in zip(pointers, totals, strict=True):
        place = rows.place(pointer, rows.cluster, f32)
        for step, (values, inside) in enumerate(zip(vectors, rows.columns, strict=True)):
            words = Words(f32, plan.vector)
            words.set(values)
            guard = is_first
            if inside is not None and is_first is not None:
                guard = is_first & inside
            elif inside is not None:
                guard = inside
            words.store(place, rows.shift(step, f32), pred=guard)


def build_column_sums(dtype: Any, arch: str = "auto") -> Kernel:
    """Build y[n] = x[0, n] + x[1, n] + ... of a (parts, N) input of f32, rounded to `dtype`."""

    @kernel(  # type: ignore[untyped-decorator]
        in_specs=(Tile("P", "N", f32),),
        out_specs=(Tile("N", dtype),),
        grid=lambda N: (-(-N // ACROSS), 1, 1),
        block=(ACROSS * DOWN, 1, 1),
        arch=arch,
        dynamic=("P",),
    )
    def column_sums(X: Any, Y: Any) -> None:
        parts, columns = X.shape
        px, py = ptx.global_ptrs(X, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        across, down = tid & (ACROSS - 1), tid >> (ACROSS.bit_length() - 1)
        column = reg.from_(ptx.special.ctaid.x(), u32) * ACROSS + across
        inside = column < columns
        offset = reg.scalar(u64)
        ptx.inst.mul.wide.u32(offset, down, columns * 4)
        place = px + offset + column * 4
        total = reg.scalar(f32, init=0.0)
        with ptx.range_(down, parts, DOWN * AT_ONCE) as first:
            values = []
            for shift in range(0, DOWN * AT_ONCE, DOWN):
                value = reg.scalar(f32, init=0.0)
                guard = (inside & (first + shift < parts)) if shift else inside
                ptx.inst.ld.global_.f32(value, ptx.addr(place, shift * columns * 4), pred=guard)
                values.append(value)
            for value in values:  # all of them are under way before the first addition
                ptx.inst.add.f32(total, total, value)
            ptx.inst.add.u64(place, place, DOWN * AT_ONCE * columns * 4)
        sums = smem.alloc(f32, (DOWN, ACROSS), name="sums")
        sums[down, across] = total
        ptx.bar.sync(0)
        with ptx.if_((down == 0) & inside):
            result = Words(dtype, 1)
            for other in range(1, DOWN):
                ptx.inst.add.f32(total, total, sums[other, across])
            result.set([total])
            result.store(py + column * (dtype.bits // 8))
        ptx.ret()

    return column_sums
