# SPDX-License-Identifier: Apache-2.0
"""The ring of stages between the thread that copies and the warpgroups that multiply.

`full[s]` says that stage s holds data, `empty[s]` that everybody has read it. In a cluster a stage
may be filled anew when all the CTAs that it is copied to have read it: their warps tell each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.kernels.gemm_config import BK, GemmConfig, GemmProblem
from pyptx.kernels.gemm_division import divided
from pyptx.kernels.gemm_operand import Operand, Place
from pyptx.types import f32, from_name, u32


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

    def init(self, by: Any, place: Place) -> None:
        """Initialise the barriers by one thread; afterwards the whole cluster may use them."""
        readers = 1 if self.config.pingpong else self.config.warpgroups
        with ptx.if_(by):
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

    def skip(self, at: Any, blocks: Any) -> None:
        """Pass over stages that another warpgroup reads."""
        turns, steps = divided(blocks, self.config.stages)
        ptx.add(u32, at.stage, at.stage, steps)
        wrapped = at.stage >= self.config.stages
        ptx.sub(u32, at.stage, at.stage, self.config.stages, pred=wrapped)
        ptx.inst.xor.b32(at.phase, at.phase, 1, pred=wrapped)
        if not isinstance(turns, int) or turns % 2:
            ptx.inst.xor.b32(at.phase, at.phase, turns & 1)

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
        self,
        at: Any,
        blocks: Any,
        first_row: Any,
        release: Callable[[Any], None],
        meanwhile: Callable[[], None],
    ) -> list[list[Any]]:
        """Multiply stages as they fill; the accumulators of this warpgroup, 64 rows each.

        `blocks` is how many, one at least; `first_row` numbers the 64 rows of X to begin with. One
        group of products stays under way while the next is issued, and a stage is released when
        its own is complete: `release(stage)`. `meanwhile()` is what is worked out while the first
        products are under way.
        """
        if self.turns:
            self.turns.wait()
        parts, n = self.config.parts, self.config.tile[1]
        accumulators = [reg.wgmma_frag(m=64, n=n, dtype=f32) for _ in range(parts)]
        previous = reg.scalar(u32)
        x, y = self.x.descriptors((first_row,)), self.y.descriptors(())

        def multiply(is_first: bool) -> None:
            low_x, low_y = x.at(at.stage), y.at(at.stage)
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
                        a=x.whole(low_x, part, k),
                        b=y.whole(low_y, 0, k),
                        scale_d=not is_first or k > 0,
                        trans_a=0 if self.x.k_major else 1,
                        trans_b=0 if self.y.k_major else 1,
                    )
            ptx.wgmma.commit_group()
            if not is_first:
                ptx.wgmma.wait_group(1)
                release(previous)
            ptx.mov(u32, previous, at.stage)
            at.advance()

        multiply(is_first=True)
        meanwhile()
        if not isinstance(blocks, int) or blocks > 1:
            with ptx.range_(1, blocks):
                multiply(is_first=False)
        if self.turns:
            self.turns.pass_on()
        ptx.wgmma.wait_group(0)
        release(previous)
        return [accumulator.regs() for accumulator in accumulators]
