# SPDX-License-Identifier: Apache-2.0
"""K divided among the CTAs of a cluster: their sums meet in shared memory.

Every CTA leaves its sums where its stages were. Then each adds up a part of the columns of the tile
over all CTAs, always in the order of K: the same inputs give the same bits.
"""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg
from pyptx.kernels.gemm_config import GemmConfig
from pyptx.types import f32

CONSUMERS = 1  # the barrier of the warpgroups that multiply


class SplitSum:
    """Adds the accumulators of the CTAs that divide K; `owners` of them get columns."""

    def __init__(self, config: GemmConfig, place: Any, base: Any, thread: Any) -> None:
        self.config, self.place = config, place
        self.threads = 128 * config.warpgroups
        self.line = base + thread * 16

    @staticmethod
    def arrive() -> None:
        """Say to the cluster that this thread has written, or read; every thread does, twice."""
        ptx.cluster.arrive()

    @staticmethod
    def wait() -> None:
        """Wait until all threads of the cluster have said so."""
        ptx.cluster.wait()

    def exchange(self, accumulators: list[list[Any]]) -> list[list[Any]]:
        """Return the sums of this CTA's columns; `wait` has to follow before the CTA ends."""
        if self.config.warpgroups > 1:  # the others may still read stages
            ptx.bar.sync(CONSUMERS, self.threads)
        size = len(accumulators[0])
        for part, registers in enumerate(accumulators):
            for index in range(0, size, 4):
                place = self._place(self.line, part * size + index)
                ptx.inst.st.shared.v4.f32(place, registers[index : index + 4])
        self.arrive()
        self.wait()
        owned = size // self.config.owners
        here = self.line
        if self.config.owners > 1:
            here = here + self.place.slice * (owned * self.threads * 4)
        sums = [reg.array(f32, owned).regs() for _ in accumulators]
        for rank in range(self.config.split_k):
            there = ptx.cluster.map_shared_u32(ptx.addr(here), self.place.partner(rank))
            for part, registers in enumerate(sums):
                for index in range(0, owned, 4):
                    place = self._place(there, part * size + index)
                    values = registers[index : index + 4]
                    if rank == 0:
                        ptx.inst.ld.shared__cluster.v4.f32(values, place)
                        continue
                    loaded = reg.array(f32, 4).regs()
                    ptx.inst.ld.shared__cluster.v4.f32(loaded, place)
                    for value, more in zip(values, loaded, strict=True):
                        ptx.inst.add.f32(value, value, more)
        self.arrive()
        return sums

    def _place(self, line: Any, index: int) -> Any:
        """Return where a register of this thread lies: four of them side by side."""
        return ptx.addr(line, index * self.threads * 4)
