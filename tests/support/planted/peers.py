# SPDX-License-Identifier: Apache-2.0
"""Planted bugs between CTAs of a cluster: their starts, ends and mbarriers. See planted_bugs."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import u32
from support.planted.bugs import bulk_in, load, make_barrier, put, store, thread
from support.planted.bugs import case as any_case

case = partial(any_case, threads=32, ctas=2)
far_load = ptx.inst.ld.shared__cluster.u32
far_store = ptx.inst.st.shared__cluster.u32
rank = ptx.cluster.rank


def words(count: int = 32) -> Any:
    """Shared memory."""
    return smem.alloc(u32, (count,), name="words").address()


def peer_of(address: Any) -> Any:
    """The same address in the other CTA."""
    return ptx.cluster.map_shared_u32(address, rank() ^ 1)


def write_out(y: Any, value: Any) -> None:
    """Every thread writes its word."""
    put(ptx.addr(y + (rank() * 32 + (thread() & 31)) * 4), value, pred=thread() < 32)


@case("PTX0945")
def peer_that_ends_while_it_is_read(x: Any, y: Any, *, broken: bool) -> None:
    # triton-lang/triton issue 11730: CTA 0 returned while the others read its shared memory.
    tile = words()
    store(ptx.addr(tile + thread() * 4), thread())
    ptx.cluster.sync()
    value = far_load(reg.scalar(u32), ptx.addr(peer_of(tile) + thread() * 4))  # guilty
    if not broken:
        ptx.cluster.sync()
    write_out(y, value)


@case("PTX0945")
def peer_that_has_not_started(x: Any, y: Any, *, broken: bool) -> None:
    # facebookexperimental/triton pull request 2292: a remote store with no barrier at the entry.
    tile = words()
    if not broken:
        ptx.cluster.sync()
    far_store(ptx.addr(peer_of(tile) + thread() * 4), thread())  # guilty
    ptx.cluster.sync()
    write_out(y, load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))


@case("PTX0945")
def last_credit_to_a_producer_that_has_left(x: Any, y: Any, *, broken: bool) -> None:
    # What CUTLASS has producer_tail for: CTA 1 gives a slot back to CTA 0, which waits for it.
    empty = make_barrier(1, name="empty")
    ptx.cluster.sync()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_remote(empty, 0, pred=rank() == 1)  # guilty
        if not broken:
            with ptx.if_(rank() == 0):
                ptx.mbarrier.wait(empty, 0)
    write_out(y, 1)


@case("PTX0945", "PTX0925")
def asynchronous_store_to_a_peer_that_does_not_wait(x: Any, y: Any, *, broken: bool) -> None:
    tile, full = words(4), make_barrier()
    ptx.cluster.sync()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(full, 4)
        send = ptx.inst.st.async_.shared__cluster.mbarrier__complete_tx__bytes.u32
        send(ptx.addr(peer_of(tile)), 5, ptx.addr(peer_of(full)))  # guilty
        if not broken:
            ptx.mbarrier.wait(full, 0)
    write_out(y, 1)


@case("PTX0945", "PTX0925")
def copy_into_a_peer_that_leaves(x: Any, y: Any, *, broken: bool) -> None:
    tile, full = words(32), make_barrier()
    ptx.cluster.sync()
    with ptx.if_(thread() == 0), ptx.if_(rank() == 1):
        bulk_in(ptx.addr(peer_of(tile)), ptx.addr(x), 128, ptx.addr(peer_of(full)))  # guilty
    with ptx.if_(thread() == 0), ptx.if_(rank() == 0):
        ptx.mbarrier.arrive_expect_tx(full, 128)
        if not broken:
            ptx.mbarrier.wait(full, 0)
    write_out(y, 1)


@case("PTX0945", "PTX0909")
def copy_to_a_peer_that_has_not_started(x: Any, y: Any, *, broken: bool) -> None:
    tile, full = words(32), make_barrier()
    if not broken:
        ptx.cluster.sync()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(full, 128)
        bulk_in(ptx.addr(peer_of(tile)), ptx.addr(x), 128, ptx.addr(peer_of(full)))  # guilty
    ptx.mbarrier.wait(full, 0)
    write_out(y, load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))


@case("PTX0945", threads=64)
def one_warp_leaves_before_the_others_have_read(x: Any, y: Any, *, broken: bool) -> None:
    # triton-lang/triton pull request 9413: what is outstanding when a warp comes to the end.
    tile = words()
    store(ptx.addr(tile + (thread() & 31) * 4), thread(), pred=thread() < 32)
    ptx.cluster.sync()
    value = reg.scalar(u32, init=0)
    with ptx.if_(thread() < 32):
        if broken:
            ptx.cluster.arrive()
        far_load(value, ptx.addr(peer_of(tile) + thread() * 4))  # guilty
        if not broken:
            ptx.cluster.arrive()
    with ptx.else_():
        ptx.cluster.arrive()
    ptx.cluster.wait()
    write_out(y, value)


@case("PTX0909", "PTX0920")
def mbarrier_initialised_behind_a_relaxed_barrier(x: Any, y: Any, *, broken: bool) -> None:
    # facebookexperimental/triton pull request 1240: the initialisation is not told to the cluster.
    bar = smem.mbarrier(1, name="bar")[0]
    with ptx.if_(thread() == 0):
        ptx.mbarrier.init(bar, 1)
        if not broken:
            ptx.fence.mbarrier_init()
    ptx.inst.bar.warp.sync(0xFFFFFFFF)
    ptx.inst.barrier.cluster.arrive.relaxed()
    ptx.inst.barrier.cluster.wait()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_remote(bar, rank() ^ 1)  # guilty
        ptx.mbarrier.wait(bar, 0)
    write_out(y, 1)


@case("PTX0920")
def data_behind_the_fence_of_mbarriers(x: Any, y: Any, *, broken: bool) -> None:
    tile, bar = words(), smem.mbarrier(1, name="bar")[0]
    store(ptx.addr(tile + thread() * 4), thread())
    with ptx.if_(thread() == 0):
        ptx.mbarrier.init(bar, 1)
        ptx.fence.mbarrier_init()
    if not broken:
        ptx.fence.acq_rel("cluster")
    ptx.inst.barrier.cluster.arrive.relaxed()
    ptx.inst.barrier.cluster.wait()
    value = far_load(reg.scalar(u32), ptx.addr(peer_of(tile) + thread() * 4))  # guilty
    ptx.cluster.sync()
    write_out(y, value)


@case("PTX0920", "PTX0921", threads=96, ctas=1)
def arrival_that_comes_round_again(x: Any, y: Any, *, broken: bool) -> None:
    # vllm-project/vllm pull request 26026: a compute warp without work arrives, and loops.
    tile = words()
    for turn in range(2):
        with ptx.if_(thread() < 32):
            store(ptx.addr(tile + thread() * 4), turn)
            ptx.inst.barrier.sync(1, 96)
        with ptx.else_():
            if broken:
                ptx.inst.barrier.arrive(1, 96)
            else:
                ptx.inst.barrier.sync(1, 96)
            value = load(reg.scalar(u32), ptx.addr(tile + (thread() & 31) * 4))  # guilty
            put(ptx.addr(y + thread() * 4), value)  # guilty
        ptx.inst.barrier.sync(2, 96)
