# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of threads and barriers. See planted_bugs."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import b64, u32
from support.planted.bugs import bulk_in, case, load, make_barrier, put, store, thread


@case("PTX0920")
def missing_barrier(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    mine, other = tile + thread() * 4, tile + (thread() ^ 32) * 4
    store(ptx.addr(mine), 0)
    ptx.bar.sync(0)
    if broken:  # whoever of the two warps comes second is the one who races
        _, value = store(ptx.addr(mine), 1), load(reg.scalar(u32), ptx.addr(other))  # guilty
    else:
        store(ptx.addr(mine), 1)
        ptx.bar.sync(0)
        value = load(reg.scalar(u32), ptx.addr(other))
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0920", threads=32)
def missing_warp_barrier(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (32,), name="tile").address()
    store(ptx.addr(tile + thread() * 4), thread())
    if not broken:
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
    value = load(reg.scalar(u32), ptx.addr(tile + (thread() ^ 1) * 4))  # guilty
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0920")
def one_lane_arrives_for_its_warp(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (32,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() < 32):
        store(ptx.addr(tile + thread() * 4), thread())
        if not broken:
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
        ptx.mbarrier.arrive(bar, pred=thread() == 0)
    with ptx.else_():
        ptx.mbarrier.wait(bar, 0)
        value = load(reg.scalar(u32), ptx.addr(tile + thread() * 4 - 128))  # guilty
        put(ptx.addr(y + thread() * 4), value)


@case("PTX0920")
def relaxed_arrival_without_a_fence(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    store(ptx.addr(tile + thread() * 4), thread())
    if not broken:
        ptx.inst.fence.acq_rel.cluster()
    ptx.inst.barrier.cluster.arrive.relaxed.aligned()
    ptx.inst.barrier.cluster.wait.acquire.aligned()
    value = load(reg.scalar(u32), ptx.addr(tile + (thread() ^ 32) * 4))  # guilty
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0920")
def arrival_without_release(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (32,), name="tile").address()
    bar = make_barrier(32)
    with ptx.if_(thread() < 32):
        store(ptx.addr(tile + thread() * 4), thread())
        if broken:
            ptx.inst.mbarrier.arrive.relaxed.cta.shared__cta.b64(reg.scalar(b64), ptx.addr(bar))
        else:
            ptx.mbarrier.arrive(bar)
    with ptx.else_():
        ptx.mbarrier.wait(bar, 0)
        value = load(reg.scalar(u32), ptx.addr(tile + thread() * 4 - 128))  # guilty
        put(ptx.addr(y + thread() * 4), value)


@case("PTX0920", threads=32, ctas=2)
def missing_cluster_barrier(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    store(ptx.addr(tile + thread() * 4), thread())
    store(ptx.addr(tile + thread() * 4 + 128), thread())
    ptx.cluster.sync()
    peer = reg.scalar(u32)
    ptx.inst.mapa.shared__cluster.u32(peer, tile, ptx.cluster.rank() ^ 1)
    ptx.inst.st.shared__cluster.u32(ptx.addr(peer + thread() * 4), 5)
    ptx.inst.barrier.cluster.arrive.relaxed() if broken else ptx.inst.barrier.cluster.arrive()
    ptx.inst.barrier.cluster.wait()
    value = load(reg.scalar(u32), ptx.addr(tile + thread() * 4))  # guilty
    put(ptx.addr(y + (ptx.cluster.rank() * 32 + thread()) * 4), value)


@case("PTX0909", "PTX0920")
def barrier_used_before_it_is_known(x: Any, y: Any, *, broken: bool) -> None:
    bar = smem.mbarrier(1, name="bar")[0]
    with ptx.if_(thread() == 0):
        ptx.mbarrier.init(bar, 64)
    if not broken:
        ptx.bar.sync(0)
    ptx.mbarrier.arrive(bar)  # guilty
    ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0911")
def too_few_bytes_expected(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 128 if broken else 256)
        bulk_in(ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar))
    ptx.mbarrier.wait(bar, 0)  # guilty
    put(ptx.addr(y + thread() * 4), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))


@case("PTX0911")
def too_many_bytes_expected(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 272 if broken else 256)
        bulk_in(ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar))
    ptx.mbarrier.wait(bar, 0)  # guilty
    put(ptx.addr(y + thread() * 4), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))


@case("PTX0924")
def bytes_that_nobody_awaits(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier(2)
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 512 if broken else 256)  # guilty
        bulk_in(ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar))
        if not broken:
            ptx.mbarrier.arrive(bar)
            ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0911")
def one_arrival_too_few(x: Any, y: Any, *, broken: bool) -> None:
    bar = make_barrier(64)
    if broken:
        ptx.mbarrier.arrive(bar, pred=thread() != 63)
    else:
        ptx.mbarrier.arrive(bar)
    ptx.mbarrier.wait(bar, 0)  # guilty
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0909")
def one_arrival_too_many(x: Any, y: Any, *, broken: bool) -> None:
    bar = make_barrier(1)
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive(bar, 2 if broken else 1)  # guilty
    ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0909")
def initialised_twice(x: Any, y: Any, *, broken: bool) -> None:
    bar = make_barrier(1)
    with ptx.if_(thread() == 0):
        if not broken:
            ptx.mbarrier.inval(bar)
        ptx.mbarrier.init(bar, 1)  # guilty
        ptx.mbarrier.arrive(bar)
        ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0910")
def counts_differ(x: Any, y: Any, *, broken: bool) -> None:
    count = reg.scalar(u32, init=64)
    if broken:
        ptx.inst.selp.u32(count, 64, 96, thread() < 32)
    ptx.bar.sync(1, count)  # guilty
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0911", "PTX0913", threads=32)
def divergent_barrier(x: Any, y: Any, *, broken: bool) -> None:
    if broken:
        with ptx.if_(thread() < 16):
            ptx.bar.sync(0)  # guilty
        with ptx.else_():
            ptx.bar.sync(1)
    else:
        ptx.bar.sync(0)
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0913")
def shuffle_from_lanes_that_have_exited(x: Any, y: Any, *, broken: bool) -> None:
    # The second warp has 16 threads left where the tail returned early.
    if broken:
        ptx.ret(pred=thread() >= 48)
    value = reg.scalar(u32)
    ptx.inst.shfl.sync.down.b32(value, thread(), 16, 31, 0xFFFFFFFF)  # guilty
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0913", threads=32)
def ldmatrix_with_an_exited_lane(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (32,), name="tile").address()
    store(ptx.addr(tile + thread() * 4), thread())
    ptx.bar.sync(0)
    if broken:
        ptx.ret(pred=thread() == 31)
    part = reg.scalar(u32)
    ptx.inst.ldmatrix.sync.aligned.m8n8.x1.shared.b16(  # guilty
        [part], ptx.addr(tile + (thread() & 7) * 16)
    )
    put(ptx.addr(y + thread() * 4), part)


@case("PTX0904")
def index_past_its_array(x: Any, y: Any, *, broken: bool) -> None:
    first = smem.alloc(u32, (64,), name="first").address()
    second = smem.alloc(u32, (64,), name="second").address()
    store(ptx.addr(first + thread() * 4), thread())
    store(ptx.addr(second + thread() * 4), thread())
    ptx.bar.sync(0)
    value = load(reg.scalar(u32), ptx.addr(first + (thread() + int(broken)) * 4))  # guilty
    put(ptx.addr(y + thread() * 4), value)
