# SPDX-License-Identifier: Apache-2.0
"""tcgen05.ld and st of every shape on the emulator, against where the PTX manual puts the words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import EmulatorError, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, s32, u32
from support.tcgen05_machine import synchronise
from support.tcgen05_moves import (
    REGISTERS,
    check_move,
    check_reducing_load,
)


def counts(shape: str) -> list[int]:
    """Every .num of a shape."""
    return [1 << i for i in range(8) if (1 << i) * REGISTERS[shape] <= 128]


FORMS = [(shape, count) for shape in REGISTERS for count in counts(shape)]


@pytest.mark.parametrize("is_load", [True, False], ids=["ld", "st"])
@pytest.mark.parametrize("pack", [False, True], ids=["whole", "halves"])
@pytest.mark.parametrize(("shape", "count"), FORMS)
def test_move(shape: str, count: int, pack: bool, is_load: bool) -> None:
    check_move(shape, count, pack, is_load)


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize(
    ("dtype", "options"),
    [(u32, {}), (s32, {}), (f32, {}), (f32, {"abs": True}), (f32, {"nan": True})],
)
def test_reducing_load(op: str, dtype: Any, options: dict[str, bool]) -> None:
    check_reducing_load(op, dtype, options)


def pair(body: Any, threads: int = 64) -> None:
    """Run a kernel of two CTAs."""

    @kernel(
        in_specs=(Tile(1, u32),),
        out_specs=(Tile(1, u32),),
        grid=(2, 1, 1),
        cluster=(2, 1, 1),
        block=(threads, 1, 1),
        arch="sm_100a",
    )
    def of_pair(X, Y):
        body(reg.from_(ptx.special.tid.x(), u32), ptx.cluster.rank())
        ptx.ret()

    of_pair.emulate(np.zeros(1, np.uint32))


def test_a_pair_that_waits_for_its_peer_for_ever_is_a_deadlock() -> None:
    def body(tid: Any, rank: Any) -> None:
        slot = smem.alloc(u32, (1,), name="slot")
        with ptx.if_((rank == 0) & (tid < 32)):
            ptx.tcgen05.alloc(slot, 64, cta_group=2)

    with pytest.raises(EmulatorError, match="a warp of the peer CTA to allocate") as caught:
        pair(body)
    assert caught.value.diagnostics[0].code == "PTX0911"


def test_a_pair_must_want_the_same() -> None:
    def body(tid: Any, rank: Any) -> None:
        slot = smem.alloc(u32, (1,), name="slot")
        with ptx.if_(tid < 32):
            ptx.tcgen05.alloc(slot, reg.from_((rank + 1) * 32, u32), cta_group=2)

    with pytest.raises(EmulatorError, match="do not agree about the number of columns"):
        pair(body)


def test_a_warp_that_waits_for_columns_gets_them() -> None:
    """Warp 1 of each CTA allocates what warp 0 frees later."""

    def body(tid: Any, rank: Any) -> None:
        tc = ptx.tcgen05
        slots = smem.alloc(u32, (2,), name="slots")
        with ptx.if_(tid < 32):
            tc.alloc(slots, 512, cta_group=2)
        synchronise(2)
        with ptx.if_(tid < 32):
            tc.dealloc(smem.load(u32, slots.address()), 512, cta_group=2)
        with ptx.if_(tid >= 32):
            tc.alloc(slots.address() + 4, 512, cta_group=2)
            tc.dealloc(smem.load(u32, slots.address() + 4), 512, cta_group=2)

    pair(body)


@pytest.mark.parametrize("waits", [True, False])
def test_a_commit_needs_the_cta_that_it_arrives_in(waits: bool) -> None:
    def body(tid: Any, rank: Any) -> None:
        done = smem.mbarrier(1, name="done")[0]
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(done, 1)
            ptx.fence.mbarrier_init()
        ptx.cluster.sync()
        with ptx.if_((tid == 0) & (rank == 0)):
            ptx.tcgen05.commit(done, cta_group=2, multicast=True, multicast_mask=3)
        with ptx.if_(rank <= int(waits)):  # both, or CTA 0 alone
            ptx.mbarrier.wait(done, 0)

    if waits:
        pair(body)
        return
    with pytest.raises(EmulatorError, match="has exited") as caught:
        pair(body)
    assert caught.value.diagnostics[0].code == "PTX0916"
