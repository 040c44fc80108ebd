# SPDX-License-Identifier: Apache-2.0
"""The ring of stages between the thread that copies and the warpgroups that multiply.

`full[s]` says that stage s holds data, `empty[s]` that everybody has read it. In a cluster every
CTA copies its share of what a row (X) or a column (Y) of CTAs needs into all of them. A stage may
be filled anew when all the CTAs that it is copied to have read it: their warps tell each other.

A tile of the product is D = X @ Y^T: X has the rows of a tile, Y its columns. They are A and B, or
B and A where the configuration swaps them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.kernels.gemm_config import BK, GemmConfig, GemmProblem
from pyptx.types import f32, from_name, u32


class Place:
    """Where a CTA stands in its cluster, and whom its copies reach.

    A cluster has `rows` x `columns` CTAs, and that `split_k` times. Ranks go down the rows first,
    then the columns, then the parts of K.
    """

    def __init__(self, config: GemmConfig, rank: Any) -> None:
        self.rows, self.columns = config.cluster
        self.size = self.rows * self.columns
        self.row: Any = 0
        self.column: Any = 0
        self.slice: Any = 0
        self.first: Any = 0  # the rank of the first CTA that has the same part of K
        if config.split_k > 1:
            self.slice = rank >> _log2(self.size)
            self.first = self.slice << _log2(self.size)
            rank = rank & (self.size - 1)
        self.rank = rank
        if self.rows > 1:
            self.row = rank & (self.rows - 1)
        if self.columns > 1:
            self.column = rank >> _log2(self.rows)

    @property
    def peers(self) -> int:
        """CTAs whose copies land here; this one is among them."""
        return self.rows + self.columns - 1

    def share_x(self) -> dict[str, Any]:
        """Which part of X this CTA copies, and to whom: the CTAs of its row."""
        if self.columns == 1:
            return {}
        mask = sum(1 << (self.rows * c) for c in range(self.columns))
        mask = _shifted(mask, self.first + self.row)
        return {"share": self.column, "shares": self.columns, "mask": mask}

    def share_y(self) -> dict[str, Any]:
        """Which part of Y this CTA copies, and to whom: the CTAs of its column."""
        if self.rows == 1:
            return {}
        mask = _shifted((1 << self.rows) - 1, self.first + self.column * self.rows)
        return {"share": self.row, "shares": self.rows, "mask": mask}

    def peer(self, lane: Any) -> Any:
        """Return the rank that a lane below `peers` stands for."""
        if self.columns == 1 or self.rows == 1:
            return lane + self.first
        # Lanes below `rows` stand for this column, the others for this row without this CTA.
        other = lane - self.rows
        ptx.add(u32, other, other, 1, pred=other >= self.column)
        beside = other * self.rows + self.row
        rank = lane + self.column * self.rows
        ptx.mov(u32, rank, beside, pred=lane >= self.rows)
        return rank + self.first

    def partner(self, part: int) -> Any:
        """Return the rank of the CTA that has another part of K of the same tile."""
        return self.rank + part * self.size


def _log2(value: int) -> int:
    return value.bit_length() - 1


def _shifted(mask: int, by: Any) -> Any:
    """Return a mask of CTAs moved on by a register or 0."""
    if isinstance(by, int):
        return mask << by
    moved = reg.scalar(u32, mask)
    ptx.inst.shl.b32(moved, moved, by)
    return moved


class Operand:
    """X or Y in shared memory: rows of a tile for every stage, K-major or MN-major.

    `edges` multiply to the rows; the last is how many one instruction takes.
    """

    def __init__(
        self, name: str, dtype: Any, edges: tuple[int, ...], stages: int, k_major: bool
    ) -> None:
        self.edge, self.k_major = math.prod(edges), k_major
        inner = (edges[-1], BK) if k_major else (BK, edges[-1])
        shape = (stages, *edges[:-1], *inner)
        self.tile = smem.wgmma_tile(dtype, shape, major="K" if k_major else "MN", name=name)

    def load(
        self,
        source: Any,
        stage: Any,
        at: tuple[Any, Any],
        batch: tuple[Any, ...],
        mbar: Any,
        *,
        share: Any = 0,
        shares: int = 1,
        mask: Any = None,
    ) -> None:
        """Start the copy of this CTA's share of a stage; `at` is (k, first row of the tile)."""
        k, row = at
        part = self.edge // shares
        base = self.tile[stage].address()
        if shares > 1:
            base, row = base + share * (part * BK * 2), row + share * part
        bulk = ptx.cp.async_.bulk
        copy = bulk.tensor_3d if batch else bulk.tensor_2d
        if self.k_major:
            copy(
                dst=ptx.addr(base),
                src=source,
                coord=(k, row, *batch),
                mbar=mbar,
                multicast_mask=mask,
            )
            return
        for first in range(0, part, 64):  # 64 rows of the tile after the other, K downwards
            copy(
                dst=ptx.addr(base, first * BK * 2),
                src=source,
                coord=(row + first, k, *batch),
                mbar=mbar,
                multicast_mask=mask,
            )


def sync_cluster() -> None:
    """Wait for every thread of the cluster, without a fence of their memory accesses."""
    ptx.inst.barrier.cluster.arrive.relaxed()
    ptx.cluster.wait()


class Turns:
    """Whose turn it is to multiply, where two warpgroups work on a tile each.

    A warpgroup may look for its stages only when the other has seen all of its own filled: a
    barrier tells this phase from the next, but not from the one after that.
    """

    def __init__(self) -> None:
        self.barriers = smem.mbarrier(2, name="turns")

    def enter(self, group: Any, lane: Any) -> None:
        """Begin as warpgroup 0 or 1; 0 is first, so its first wait must not block."""
        self.mine, self.other = self.barriers[group], self.barriers[group ^ 1]
        self.lane, self.phase = lane, group ^ 1

    def wait(self) -> None:
        """Wait for this warpgroup's turn."""
        ptx.mbarrier.wait(self.mine, self.phase)
        ptx.inst.xor.b32(self.phase, self.phase, 1)

    def pass_on(self) -> None:
        """Give the turn to the other warpgroup."""
        ptx.mbarrier.arrive(self.other, pred=self.lane == 0)


class Ring:
    """The stages of X and Y, and the two sides that use them."""

    def __init__(self, config: GemmConfig, problem: GemmProblem) -> None:
        self.config = config
        self.dtype = from_name(problem.dtype)
        x_is_k, y_is_k = problem.a_major == "K", problem.b_major == "K"
        if config.swap:
            x_is_k, y_is_k = y_is_k, x_is_k
        m, n = config.tile
        self.x = Operand("tile_x", self.dtype, (m // 64, 64), config.stages, x_is_k)
        self.y = Operand("tile_y", self.dtype, (n,), config.stages, y_is_k)
        self.full = smem.mbarrier(config.stages, name="full")
        self.empty = smem.mbarrier(config.stages, name="empty")
        self.turns = Turns() if config.pingpong else None

    def init(self, tid: Any, place: Place) -> None:
        """One thread initialises the barriers; afterwards the whole cluster may use them."""
        readers = 1 if self.config.pingpong else self.config.warpgroups
        with ptx.if_(tid == 0):
            self.full.init_all(1)
            self.empty.init_all(4 * readers * place.peers)  # one arrival per warp
            if self.turns:
                self.turns.barriers.init_all(4)
            ptx.fence.mbarrier_init()
        if self.config.cluster_size > 1:
            sync_cluster()
        else:
            ptx.bar.sync(0)

    def producer(self) -> Any:
        """Return where the producer stands. Its first waits for empty stages must not block."""
        return ptx.pipeline(self.config.stages, phase=1)

    def consumer(self) -> Any:
        """Return where a consumer stands."""
        return ptx.pipeline(self.config.stages)

    def produce(self, at: Any, blocks: tuple[Any, Any], load: Any) -> None:
        """Fill stages with blocks of K: `load(stage, k, barrier)` starts the copies of one."""
        with ptx.range_(*blocks) as block:
            full = self.full[at.stage]
            ptx.mbarrier.wait(self.empty[at.stage], at.phase)
            ptx.mbarrier.arrive_expect_tx(full, self.config.stage_bytes)
            load(at.stage, block * BK, full)
            at.advance()

    def skip(self, at: Any, blocks: int) -> None:
        """Pass over stages that another warpgroup reads."""
        turns, steps = divmod(blocks, self.config.stages)
        ptx.add(u32, at.stage, at.stage, steps)
        wrapped = at.stage >= self.config.stages
        ptx.sub(u32, at.stage, at.stage, self.config.stages, pred=wrapped)
        ptx.inst.xor.b32(at.phase, at.phase, 1, pred=wrapped)
        if turns % 2:
            ptx.inst.xor.b32(at.phase, at.phase, 1)

    def releaser(self, place: Place, lane: Any) -> Callable[[Any], None]:
        """Return what says that this warp has read a stage, to everybody who copies into it."""
        if place.peers == 1:
            return lambda stage: ptx.mbarrier.arrive(self.empty[stage], pred=lane == 0)
        has_peer = lane < place.peers
        peer = place.peer(lane.min(place.peers - 1))
        barriers = ptx.cluster.map_shared_u32(self.empty[0], peer)

        def release(stage: Any) -> None:
            # What was read was read by wgmma and is waited for: nothing is left to be released at
            # the scope of the cluster, which costs a fence of all memory in every block of K.
            barrier = ptx.addr(barriers + stage * 8)
            ptx.inst.mbarrier.arrive.shared__cluster.b64("_", barrier, pred=has_peer)

        return release

    def consume(
        self, at: Any, blocks: Any, first_row: Any, release: Callable[[Any], None]
    ) -> list[list[Any]]:
        """Multiply stages as they fill; the accumulators of this warpgroup, 64 rows each.

        `blocks` is how many, one at least; `first_row` numbers the 64 rows of X to begin with. One
        group of products stays under way while the next is issued, and a stage is released when
        its own is complete: `release(stage)`.
        """
        if self.turns:
            self.turns.wait()
        parts, n = self.config.parts, self.config.tile[1]
        accumulators = [reg.wgmma_frag(m=64, n=n, dtype=f32) for _ in range(parts)]
        previous = reg.scalar(u32)

        def multiply(is_first: bool) -> None:
            ptx.mbarrier.wait(self.full[at.stage], at.phase)
            ptx.wgmma.fence()
            for k in range(0, BK, 16):
                for part, accumulator in enumerate(accumulators):
                    ptx.wgmma.mma_async(
                        shape=(64, n, 16),
                        dtype_d=f32,
                        dtype_a=self.dtype,
                        dtype_b=self.dtype,
                        d=accumulator,
                        a=self.x.tile[at.stage, first_row + part],
                        b=self.y.tile[at.stage],
                        scale_d=not is_first or k > 0,
                        a_k_offset=k,
                        b_k_offset=k,
                    )
            ptx.wgmma.commit_group()
            if not is_first:
                ptx.wgmma.wait_group(1)
                release(previous)
            ptx.mov(u32, previous, at.stage)
            at.advance()

        multiply(is_first=True)
        if not isinstance(blocks, int) or blocks > 1:
            with ptx.range_(1, blocks):
                multiply(is_first=False)
        if self.turns:
            self.turns.pass_on()
        ptx.wgmma.wait_group(0)
        release(previous)
        return [accumulator.regs() for accumulator in accumulators]
