# SPDX-License-Identifier: Apache-2.0
"""Rows whose bytes are no multiple of 16, in vectors of 16 bytes all the same.

A row starts anywhere between two multiples of 16 bytes: `Row.lead` elements behind one. Vectors
lie at these multiples, as in memory, so a row's first and last may lie partly in the rows beside
it: of those each element is moved alone. Where an output lies at another distance from a multiple
of 16 than the input, which torch's new tensors never do, all of its elements are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyptx import ptx, reg
from pyptx.kernels.elements import WIDEST, Words
from pyptx.kernels.rows import Row, Rows
from pyptx.types import pred, u32, u64


class RaggedRows(Rows):
    """`Rows` of a plan that is `ragged`: one matrix in, of which the outputs have the rows."""

    def run(
        self,
        pointers: Sequence[Any],
        body: Callable[..., None],
        *,
        fill: float = 0.0,
        pitch: int | None = None,
    ) -> None:
        """Call `body(row, words)` for the rows of this group."""
        if len(pointers) != 1:
            raise ValueError("the rows of several matrices may start at different places")
        super().run(pointers, body, fill=fill, pitch=pitch)

    def load_columns(self, pointer: Any, dtype: Any = None) -> list[Words]:
        """Refuse: what all rows share would start elsewhere for each."""
        raise ValueError("ragged rows share no columns")

    def load(
        self,
        row: Row,
        pointer: Any,
        dtype: Any = None,
        *,
        fill: float = 0.0,
        pitch: int | None = None,
    ) -> list[Words]:
        """Load a row, a vector for each step; what is outside of it is `fill`."""
        kind = self._same(dtype, pitch)
        start, lead = self._start(row, pointer)
        row.lead = lead >> (self.size.bit_length() - 1)
        vectors, edges = [], []
        for step in range(self.plan.steps):
            words = Words(kind, self.plan.vector, fill)
            first, whole, edge = self._parts(row, step)
            words.load(start, self.shift(step, kind), pred=whole)
            vectors.append(words)
            if edge is not None:
                edges.append((words, step, first, edge))
        # Behind all vectors: who loads elements waits for them before it leaves the branch.
        for words, step, first, edge in edges:
            with ptx.if_(edge):
                words.load_each(start, self.shift(step, kind), self._inside_each(first))
        return vectors

    def store(
        self,
        row: Row,
        pointer: Any,
        vectors: Sequence[Sequence[Any]],
        dtype: Any = None,
        pitch: int | None = None,
    ) -> None:
        """Round f32 values, a list for each step, and store them as a row."""
        kind = self._same(dtype, pitch)
        start, lead = self._start(row, pointer)
        steps = []
        for values in vectors:
            words = Words(kind, self.plan.vector)
            words.set(values)
            steps.append(words)
        with ptx.if_(lead == row.lead * self.size):
            for step, words in enumerate(steps):
                first, whole, edge = self._parts(row, step)
                words.store(start, self.shift(step, kind), pred=whole)
                if edge is not None:
                    with ptx.if_(edge):
                        words.store_each(start, self.shift(step, kind), self._inside_each(first))
        with ptx.else_():
            place = start + lead - row.lead * self.size
            for step, words in enumerate(steps):
                first, *_ = self._parts(row, step)
                guards = [self._of_row(row, inside, step) for inside in self._inside_each(first)]
                words.store_each(place, self.shift(step, kind), guards)

    def begin(self, row: Row) -> Any:
        """Return the column of this thread's first element; those before the row are negative."""
        return super().begin(row) - row.lead

    def _same(self, dtype: Any, pitch: int | None) -> Any:
        if dtype not in (None, self.plan.dtype) or pitch is not None:
            raise ValueError("ragged rows have one element type and no gaps")
        return self.plan.dtype

    def _start(self, row: Row, pointer: Any) -> tuple[Any, Any]:
        """Return this thread's first vector, and how many bytes behind a multiple a row starts."""
        offset = reg.scalar(u64)
        ptx.inst.mul.wide.u32(offset, row.index, self.plan.columns * self.size)
        address = pointer + offset
        lead = reg.from_(address, u32) & (WIDEST - 1)
        return address - lead + self.first * WIDEST, lead

    def _parts(self, row: Row, step: int) -> tuple[Any, Any, Any]:
        """Return a step's first column, whether its vector is whole, and whether it is an edge.

        Compared as unsigned numbers: columns before the row are beyond it. None where no thread's
        vector can be an edge, or every thread's is whole.
        """
        plan = self.plan
        first = self.begin(row) + step * plan.lanes * plan.vector
        starts = range(step * plan.lanes, plan.ctas * plan.share, plan.share)  # of each CTA
        # A row has a vector more or less, by where it starts.
        has_tail = any(start + plan.lanes > plan.vectors - 2 for start in starts)
        if step > 0 and not has_tail:
            return first, self._of_row(row, None, step), None
        whole = first <= plan.columns - plan.vector
        edge = (first + (plan.vector - 1)) < plan.columns + plan.vector - 1
        edge = ptx.inst.and_.pred(reg.scalar(pred), edge, ~whole)
        return first, self._of_row(row, whole, step), self._of_row(row, edge, step)

    def _inside_each(self, first: Any) -> list[Any]:
        """Return whether each element of a vector is in the row."""
        return [first + index < self.plan.columns for index in range(self.plan.vector)]

    def _of_row(self, row: Row, guard: Any, step: int) -> Any:
        """Return whether a guard holds for a step of a row that there is, in this CTA's part."""
        plan = self.plan
        is_own = None
        if plan.ctas > 1 and (step + 1) * plan.lanes > plan.share:
            is_own = self.lane < plan.share - step * plan.lanes
        for other in (row.exists, is_own):
            if guard is None:
                guard = other
            elif other is not None:
                guard = ptx.inst.and_.pred(reg.scalar(pred), guard, other)
        return guard
