# SPDX-License-Identifier: Apache-2.0
"""Row after row for a group that stays: bulk copies fill a ring in shared memory ahead of it.

The first thread of a group starts the copies of as many rows as the ring has stages. Once all
threads of the group are done with a row, it starts the copies of the row that comes into that stage
next; those of the other stages keep memory busy in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyptx import ptx, reg, smem
from pyptx.kernels.elements import WIDEST, Words
from pyptx.types import pred, u8, u32, u64

if TYPE_CHECKING:
    from pyptx.kernels.rows import Rows


class RowStream:
    """The rows of several matrices, one after the other, for one group of `rows`."""

    def __init__(self, rows: Rows, pointers: Sequence[Any], fill: float) -> None:
        plan = rows.plan
        self.rows = rows
        self.pointers = pointers
        self.fill = fill
        self.start = rows.cluster * plan.groups + rows.group if plan.groups > 1 else rows.cluster
        # As many clusters as were launched: a number of the launch, as the rows are.
        clusters = reg.from_(ptx.special.nctaid.x(), u32) >> (plan.ctas.bit_length() - 1)
        self.step = clusters * plan.groups
        self.width = plan.share * plan.vector * rows.size  # bytes of a row in a stage
        self.is_bulk = plan.stages > 1 and plan.vector * rows.size == WIDEST
        if self.is_bulk:
            self._make_ring()

    def _make_ring(self) -> None:
        plan, rows = self.rows.plan, self.rows
        shape = (plan.groups, plan.stages, len(self.pointers), self.width)
        self.ring = smem.alloc(u8, shape, name="ring").address()
        self.full = smem.mbarrier(plan.groups * plan.stages, name="full")
        self.leads = rows.lane == 0
        self.barrier = 0 if rows.group is None else rows.group * plan.stages
        if rows.group is not None:
            self.ring = self.ring + rows.group * (plan.stages * len(self.pointers) * self.width)
        whole = plan.vectors * WIDEST
        self.bytes: Any = whole
        self.at: Any = 0
        if plan.ctas > 1:
            self.at = rows.rank * self.width
            self.bytes = self.width
            if whole != self.width * plan.ctas:  # the last CTAs have less, perhaps nothing
                rest = reg.scalar(u32)
                ptx.inst.min.u32(rest, self.at, whole)
                ptx.inst.sub.u32(rest, whole, rest)
                ptx.inst.min.u32(rest, rest, self.width)
                self.bytes = rest
        with ptx.if_(self.leads):
            for stage in range(plan.stages):
                ptx.mbarrier.init(self.full[self.barrier + stage], 1)
            ptx.fence.mbarrier_init()
        rows.sync()

    def _fetch(self, row: Any, stage: Any) -> None:
        """Start the copies of a row into a stage, where there is such a row."""
        count = len(self.pointers)
        wanted = ptx.inst.and_.pred(reg.scalar(pred), self.leads, row < self.rows.count)
        with ptx.if_(wanted):
            bar = self.full[self.barrier + stage]
            ptx.mbarrier.arrive_expect_tx(bar, self.bytes * count)
            offset = reg.scalar(u64)
            ptx.inst.mul.wide.u32(offset, row, self.rows.plan.columns * self.rows.size)
            has_any = None if isinstance(self.bytes, int) else self.bytes > 0
            for index, pointer in enumerate(self.pointers):
                ptx.cp.async_.bulk.load(
                    dst=self.ring + (stage * count + index) * self.width,
                    src=pointer + offset + self.at,
                    bytes=self.bytes,
                    mbar=bar,
                    pred=has_any,
                )

    def _read(self, stage: Any) -> list[list[Words]]:
        """Load a stage into registers."""
        rows, plan = self.rows, self.rows.plan
        found = []
        base = self.ring + stage * (len(self.pointers) * self.width) + rows.lane * WIDEST
        for index in range(len(self.pointers)):
            vectors = []
            for step, guard in enumerate(rows.columns):
                words = Words(plan.dtype, plan.vector, None if guard is None else self.fill)
                offset = index * self.width + rows.shift(step, plan.dtype)
                words.load(base, offset, space="shared", pred=guard)
                vectors.append(words)
            found.append(vectors)
        return found

    def run(self, body: Callable[..., None]) -> None:
        """Call the body for row after row; it may use the same registers each time."""
        from pyptx.kernels.rows import Row

        rows = self.rows
        if not self.is_bulk:
            with ptx.range_(self.start, rows.count, self.step) as index:
                row = Row(index, None)
                body(row, *[rows.load(row, pointer, fill=self.fill) for pointer in self.pointers])
                rows.next_turn()
            return
        stages = rows.plan.stages
        for stage in range(stages):
            self._fetch(self.start + stage * self.step if stage else self.start, stage)
        ring = ptx.pipeline(stages)
        with ptx.range_(self.start, rows.count, self.step) as index:
            ptx.mbarrier.wait(self.full[self.barrier + ring.stage], ring.phase)
            body(Row(index, None), *self._read(ring.stage))
            ptx.fence.proxy_async_shared_cta()  # the copies to come are behind these reads
            rows.sync()
            self._fetch(index + stages * self.step, ring.stage)
            rows.next_turn()
            ring.advance()
