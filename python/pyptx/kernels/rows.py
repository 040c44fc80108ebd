# SPDX-License-Identifier: Apache-2.0
"""Rows in registers: where a thread's elements lie, sums and maxima over a row, loads and stores.

    rows = Rows(plan, B)
    rows.run((px,), body)           # body(row, x) for every row of this group, x as Words
    rows.sum([value, ...])          # over the threads that share the row, inside the body
    rows.store(row, py, words)

A plan says which threads share a row and whether they take one row and end or stay for many; the
body is the same. See `Plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.kernels.elements import Words
from pyptx.kernels.plans import Plan
from pyptx.kernels.row_stream import RowStream
from pyptx.types import f32, pred, u32, u64

COMBINE: dict[str, Any] = {"sum": ptx.inst.add.f32, "max": ptx.inst.max.f32}
WARP: dict[str, Any] = {"sum": ptx.warp.reduce_sum, "max": ptx.warp.reduce_max}
EXCHANGES = 2  # that a row shared by CTAs may have


class Rows:
    """The rows of a (count, columns) matrix that this thread's group works on."""

    def __init__(self, plan: Plan, count: Any) -> None:
        self.plan = plan
        self.count = count
        self.size = plan.dtype.bits // 8
        self.tid = reg.from_(ptx.special.tid.x(), u32)
        lanes = plan.lanes
        self.lane = self.tid & (lanes - 1) if plan.groups > 1 else self.tid
        self.group = self.tid >> (lanes.bit_length() - 1) if plan.groups > 1 else None
        self.cluster = reg.from_(ptx.special.ctaid.x(), u32)
        self.first = self.lane  # this thread's first vector in the row
        self.rank: Any = None
        self._own: Any = plan.vectors  # vectors of a row that this CTA has
        if plan.ctas > 1:
            self.rank = ptx.cluster.rank() if plan.meets else self.cluster & (plan.ctas - 1)
            self.cluster = self.cluster >> (plan.ctas.bit_length() - 1)
            start = self.rank * plan.share
            self.first = start + self.lane
            self._own = plan.share
            if plan.vectors < plan.ctas * plan.share:
                self._own = ptx.inst.min.u32(reg.scalar(u32), start, plan.vectors)
                ptx.inst.sub.u32(self._own, plan.vectors, self._own)
                ptx.inst.min.u32(self._own, self._own, plan.share)
        if plan.ctas > 1 and plan.meets:
            self._arrived = smem.mbarrier(EXCHANGES, name="arrived")
            with ptx.if_(self.tid == 0):
                self._arrived.init_all(1)
                ptx.fence.mbarrier_init()
            ptx.inst.barrier.cluster.arrive.relaxed()
        self._warps = max(plan.lanes // 32, 1)
        self.is_one_warp = self._warps * plan.ctas == 1
        self._slots = 0
        self._turn: Any = None  # how many rows a group that stays has had
        self.columns = [self._inside(step) for step in range(plan.steps)]

    # --- where things are -------------------------------------------------------------------------

    def _inside(self, step: int) -> Any:
        """Whether a step's vector is in the row; None where every thread's is."""
        plan, first = self.plan, step * self.plan.lanes
        last = (plan.ctas - 1) * plan.share + first + plan.lanes
        if last <= plan.vectors and (plan.ctas == 1 or first + plan.lanes <= plan.share):
            return None
        return self.lane + first < self._own

    def guards(self, row: Row) -> list[Any]:
        """Return the guard of every step's vector of a row, None where there is nothing to ask."""
        if row.exists is None:
            return self.columns
        both = []
        for inside in self.columns:
            if inside is None:
                both.append(row.exists)
            else:
                both.append(ptx.inst.and_.pred(reg.scalar(pred), row.exists, inside))
        return both

    def place(self, pointer: Any, row: Any, dtype: Any, pitch: int | None = None) -> Any:
        """Return the address of this thread's first vector in a row of `pitch` elements."""
        size = dtype.bits // 8
        offset = reg.scalar(u64)
        ptx.inst.mul.wide.u32(offset, row, (self.plan.columns if pitch is None else pitch) * size)
        return pointer + offset + self.first * (self.plan.vector * size)

    def begin(self, row: Row) -> Any:
        """Return the column of this thread's first element."""
        return self.first * self.plan.vector

    def shift(self, step: int, dtype: Any) -> int:
        """Return the bytes between this thread's first vector and that of a step."""
        return step * self.plan.lanes * self.plan.vector * int(dtype.bits) // 8

    def count_in_warp(self) -> Any:
        """Return how many elements of the row this warp, or part of a warp, has."""
        plan = self.plan
        width = min(plan.lanes, 32)
        whole = sum(plan.vector for inside in self.columns if inside is None)
        count = reg.scalar(f32, init=float(whole))
        if whole == plan.steps * plan.vector:
            ptx.inst.mul.f32(count, count, float(width))
            return count
        for inside in self.columns:
            if inside is not None:
                ptx.inst.add.f32(count, count, float(plan.vector), pred=inside)
        return ptx.warp.reduce_sum(count, width=width)

    # --- loads and stores -------------------------------------------------------------------------

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
        kind = dtype or self.plan.dtype
        place = self.place(pointer, row.index, kind, pitch)
        return self._load(place, kind, self.guards(row), fill)

    def load_columns(self, pointer: Any, dtype: Any = None) -> list[Words]:
        """Load what all rows share: weights, one for each column."""
        kind = dtype or self.plan.dtype
        place = pointer + self.first * (self.plan.vector * kind.bits // 8)
        return self._load(place, kind, self.columns, 0.0)

    def _load(self, place: Any, dtype: Any, guards: list[Any], fill: float) -> list[Words]:
        vectors = []
        for step, guard in enumerate(guards):
            words = Words(dtype, self.plan.vector, None if guard is None else fill)
            words.load(place, self.shift(step, dtype), pred=guard)
            vectors.append(words)
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
        kind = dtype or self.plan.dtype
        place = self.place(pointer, row.index, kind, pitch)
        for step, (values, guard) in enumerate(zip(vectors, self.guards(row), strict=True)):
            words = Words(kind, self.plan.vector)
            words.set(values)
            words.store(place, self.shift(step, kind), pred=guard)

    def store_words(self, row: Row, pointer: Any, vectors: Sequence[Words]) -> None:
        """Store words as a row."""
        kind = self.plan.dtype
        place = self.place(pointer, row.index, kind)
        for step, (words, guard) in enumerate(zip(vectors, self.guards(row), strict=True)):
            words.store(place, self.shift(step, kind), pred=guard)

    def store_scalar(self, row: Row, pointer: Any, value: Any, by: Any = None) -> None:
        """Store one f32 for a row, from the thread for which `by` holds, else from its first."""
        by = self.first == 0 if by is None else by
        if row.exists is not None:
            by = ptx.inst.and_.pred(reg.scalar(pred), by, row.exists)
        offset = reg.scalar(u64)
        ptx.inst.mul.wide.u32(offset, row.index, 4)
        ptx.inst.st.global_.f32(ptx.addr(pointer + offset), value, pred=by)

    # --- over the threads that share a row --------------------------------------------------------

    def sum(self, values: Sequence[Any]) -> list[Any]:
        """Add up values of the threads that share a row; all of them get the sums."""
        return self._reduce(values, "sum")

    def max(self, values: Sequence[Any]) -> list[Any]:
        """Find the largest of the values of the threads that share a row."""
        return self._reduce(values, "max")

    def _reduce(self, values: Sequence[Any], what: str) -> list[Any]:
        for value in values:
            WARP[what](value, width=min(self.plan.lanes, 32))
        if self.is_one_warp:
            return list(values)
        return self.exchange(values, [what] * len(values))

    def exchange(self, values: Sequence[Any], whats: Sequence[str]) -> list[Any]:
        """Combine values that are already one per warp, over the warps that share a row."""
        shared = self.gather(values)
        return [self.fold(part, what) for part, what in zip(shared, whats, strict=True)]

    def fold(self, parts: list[Any], what: str) -> Any:
        """Combine this lane's parts and then those of the lanes."""
        for other in parts[1:]:
            COMBINE[what](parts[0], parts[0], other)
        return WARP[what](parts[0], width=min(self._warps * self.plan.ctas, 32))

    def gather(self, values: Sequence[Any]) -> list[list[Any]]:
        """Give each warp's values to all warps that share the row: this lane's of them.

        The lanes of a warp get different warps' parts, which `fold` combines. In a CTA, memory is
        used again at the next row but one: no warp is there before all have read what they had for
        this one, since that is what the barrier of the next row waits for.
        """
        plan = self.plan
        many = self._warps * plan.ctas
        stride = plan.groups * many * 4  # between two values
        turns = 1 if self._turn is None or plan.ctas > 1 else 2
        slots = smem.alloc(f32, (turns, len(values), plan.groups, many), name=f"parts{self._slots}")
        base = slots.address()
        if turns == 2:
            base = base + (self._turn & 1) * (len(values) * stride)
        if self.group is not None:
            base = base + self.group * (many * 4)
        if plan.ctas == 1:
            with ptx.if_((self.tid & 31) == 0):
                mine = base + (self.lane >> 5) * 4
                for index, value in enumerate(values):
                    smem.store(f32, ptx.addr(mine, index * stride), value)
            self.sync()
        else:
            self._send(values, base, stride, many)
        self._slots += 1
        start = base + (self.tid & (min(many, 32) - 1)) * 4
        parts = [
            [smem.load(f32, ptx.addr(start, index * stride + at * 4)) for at in range(0, many, 32)]
            for index in range(len(values))
        ]
        if plan.ctas > 1 and self._turn is not None:
            ptx.inst.fence.release.sync_restrict__shared__cta.cluster()
            ptx.inst.barrier.cluster.arrive.relaxed()  # this memory may be written again
        return parts

    def _send(self, values: Sequence[Any], base: Any, stride: int, many: int) -> None:
        """Store a warp's values in every CTA of the cluster, and wait for those of all warps.

        The barrier of the cluster says that the others have started, and in a cluster that stays
        that they have read what was sent before; what is waited for is the data, at an mbarrier.
        No CTA ends before all warps have sent it what it waits for, and then nobody sends to it.
        """
        if not self.plan.meets:
            raise ValueError("CTAs that never meet cannot reduce a row")
        if self._slots == EXCHANGES:
            raise ValueError(f"rows that CTAs share are reduced at most {EXCHANGES} times")
        if self._turn is not None or self._slots == 0:
            ptx.cluster.wait()
        arrived = self._arrived[self._slots]
        ptx.mbarrier.arrive_expect_tx(arrived, len(values) * many * 4, pred=self.tid == 0)
        peer = self.tid & 31  # lane i stores to CTA i
        with ptx.if_(peer < self.plan.ctas):
            mine = base + (self.rank * self._warps + (self.tid >> 5)) * 4
            there = ptx.cluster.map_shared_u32(mine, peer)
            barrier = ptx.cluster.map_shared_u32(arrived, peer)
            send = ptx.inst.st.async_.weak.shared__cluster.mbarrier__complete_tx__bytes.b32
            for index, value in enumerate(values):
                send(ptx.addr(there, index * stride), value, ptx.addr(barrier))
        ptx.mbarrier.wait(arrived, 0 if self._turn is None else self._turn & 1)

    def sync(self) -> None:
        """Wait for the threads of the group."""
        plan = self.plan
        if plan.lanes <= 32:
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
        elif self.group is None:
            ptx.bar.sync(0)
        else:
            ptx.bar.sync(self.group + 1, plan.lanes)

    # --- all rows ---------------------------------------------------------------------------------

    def run(
        self,
        pointers: Sequence[Any],
        body: Callable[..., None],
        *,
        fill: float = 0.0,
        pitch: int | None = None,
    ) -> None:
        """Call `body(row, words, ...)` for the rows of this group, words of each matrix."""
        plan = self.plan
        if plan.stages:
            self._turn = reg.scalar(u32, init=0)
            RowStream(self, pointers, fill).run(body)
            if plan.ctas > 1:
                ptx.cluster.wait()  # for the last arrival
        else:
            rows = [self.row(index) for index in range(plan.each)]
            held = [[self.load(row, p, fill=fill, pitch=pitch) for p in pointers] for row in rows]
            for row, words in zip(rows, held, strict=True):
                body(row, *words)

    def row(self, number: int) -> Row:
        """Return the row with this number of the group's, at most `plan.each`."""
        plan = self.plan
        per_cta = plan.groups * plan.each
        index = self.cluster * per_cta if per_cta > 1 else self.cluster
        if self.group is not None:
            index = index + self.group
        if number:
            index = index + number * plan.groups
        is_full = per_cta == 1 or (isinstance(self.count, int) and self.count % per_cta == 0)
        return Row(index, None if is_full else index < self.count)

    def next_turn(self) -> None:
        """Count a row; at the end of a loop's body."""
        ptx.inst.add.u32(self._turn, self._turn, 1)


class Row:
    """A row: its number in a register, and whether there is such a row, None where there is.

    `lead` is of `RaggedRows`.
    """

    def __init__(self, index: Any, exists: Any) -> None:
        self.index = index
        self.exists = exists
        self.lead: Any = None
