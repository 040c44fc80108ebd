# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy of rows of logits: the loss, and in the same pass its gradient.

    loss = log(sum(exp(x))) - x[target],    dx = (softmax(x) - onehot(target)) * g

A row of logits is read once and stays in registers, so the gradient costs its own store and
nothing else. A target outside of the row, -100 for one, is ignored: loss and gradient are zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyptx import Tile, ptx, reg
from pyptx.kernels.elements import Words, element_type
from pyptx.kernels.plans import Plan, plan_cross_entropy
from pyptx.kernels.row_kernel import row_kernel
from pyptx.kernels.rows import Row, Rows
from pyptx.kernels.softmax import Exponentials
from pyptx.types import f32, pred, s64, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


class Target:
    """The target of a row. The thread that holds its logit writes the loss.

    That thread reads the logit from memory, since its own registers cannot be indexed, and nobody
    else does: it is the one that may store to that place later.
    """

    def __init__(self, rows: Rows, row: Row, targets: Any, logits: Any, kind: Any) -> None:
        plan, size = rows.plan, kind.bits // 8
        place = reg.scalar(u64)
        ptx.inst.mul.wide.u32(place, row.index, size)
        wide = reg.scalar(u64 if size == 8 else u32, init=-1)
        load = ptx.inst.ld.global_.u64 if size == 8 else ptx.inst.ld.global_.u32
        load(wide, ptx.addr(targets + place), pred=row.exists)
        self.counts = wide < plan.columns  # as unsigned: what is negative is beyond
        column = reg.from_(wide, u32)
        self.distance = column - rows.begin(row)  # from this thread's first element
        vector = self.distance >> (plan.vector.bit_length() - 1)
        # Compared as unsigned: a column before this thread's first is beyond them all.
        holds = (vector < plan.share - rows.lane) & ((vector & (plan.lanes - 1)) == 0) & self.counts
        words = Words(plan.dtype, 1, fill=0.0)
        start = reg.scalar(u64)
        ptx.inst.mul.wide.u32(start, row.index, plan.columns * rows.size)
        words.load(logits + start + column * rows.size, pred=holds)
        (self.logit,) = words.floats()
        # A row whose target is ignored has a loss too: its first thread's.
        is_ignored = ptx.inst.not_.pred(reg.scalar(pred), self.counts)
        self.writes = ptx.inst.or_.pred(reg.scalar(pred), holds, (rows.first == 0) & is_ignored)

    def take_off(self, rows: Rows, vectors: list[list[Any]], amount: Any) -> None:
        """Subtract an amount from the value of the target's column, in the thread that has it."""
        plan = rows.plan
        for step, vector in enumerate(vectors):
            for index, value in enumerate(vector):
                is_target = self.distance == step * plan.lanes * plan.vector + index
                ptx.inst.sub.f32(value, value, amount, pred=is_target)


def build_cross_entropy(
    columns: int,
    dtype: Any,
    *,
    gradient: bool,
    target: Any = s64,
    plan: Plan | None = None,
    arch: str = "auto",
) -> Kernel:
    """Build (x, targets) -> loss, or (x, targets, g) -> (loss, dx), for (B, columns) logits.

    The targets are B numbers of `target`, s64 or s32; the losses and g are B numbers of f32; dx may
    be x.
    """
    dtype = element_type(dtype)
    plan = plan or plan_cross_entropy(columns, dtype, gradient)
    matrix, numbers = Tile("B", columns, dtype), Tile("B", f32)

    @row_kernel(
        "cross_entropy_gradient" if gradient else "cross_entropy",
        plan,
        {"X": matrix, "Targets": Tile("B", target), **({"G": numbers} if gradient else {})},
        {"Loss": numbers, **({"DX": matrix} if gradient else {})},
        arch=arch,
    )
    def cross_entropy(rows: Rows, px: Any, pt: Any, *pointers: Any) -> None:
        def body(row: Row, words: Any) -> None:
            aim = Target(rows, row, pt, px, target)
            if gradient:
                g = reg.scalar(f32, init=0.0)
                offset = reg.scalar(u64)
                ptx.inst.mul.wide.u32(offset, row.index, 4)
                ptx.inst.ld.global_.f32(g, ptx.addr(pointers[0] + offset), pred=aim.counts)
            found = Exponentials(rows, words)
            loss = reg.scalar(f32)
            ptx.inst.lg2.approx.f32(loss, found.total)
            ptx.inst.fma.rn.f32(loss, loss, math.log(2.0), found.largest)
            ptx.inst.sub.f32(loss, loss, aim.logit)
            ptx.inst.selp.f32(loss, loss, 0.0, aim.counts)
            rows.store_scalar(row, pointers[1 if gradient else 0], loss, by=aim.writes)
            if not gradient:
                return
            scale = ptx.inst.rcp.approx.ftz.f32(reg.scalar(f32), found.total)
            dx = found.times(ptx.inst.mul.f32(scale, scale, g))
            aim.take_off(rows, dx, g)
            rows.store(row, pointers[2], dx)

        rows.run((px,), body, fill=-math.inf)

    return cross_entropy
