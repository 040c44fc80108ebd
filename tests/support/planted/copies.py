# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of asynchronous copies: waits, reuse, proxies, the end. See planted_bugs."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import b32, u32
from support.planted.bugs import (
    bulk_in,
    bulk_out,
    case,
    copy_word,
    load,
    make_barrier,
    put,
    store,
    thread,
)


@case("PTX0917")
def missing_wait(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 256)
        bulk_in(ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar))
    ptx.bar.sync(0)  # the copy is under way
    if not broken:
        ptx.mbarrier.wait(bar, 0)
    value = load(reg.scalar(u32), ptx.addr(tile + thread() * 4))  # guilty
    ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0917", "PTX0911")
def wrong_phase(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    for turn in range(2):
        ptx.fence.proxy_async()
        ptx.bar.sync(0)
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(bar, 256)
            bulk_in(ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar))
        ptx.bar.sync(0)  # the copy is under way
        # Too late, the same parity is that of the phase after the next, which never ends.
        ptx.mbarrier.wait(bar, 0 if broken else turn)  # guilty
        value = load(reg.scalar(u32), ptx.addr(tile + thread() * 4))  # guilty
    ptx.mbarrier.wait(bar, 1)
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0917")
def wait_of_one_lane(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 256)
        bulk_in(ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar))
    ptx.bar.sync(0)  # the copy is under way
    with ptx.if_(thread() == 0):
        ptx.mbarrier.wait(bar, 0)
    if not broken:
        ptx.bar.sync(0)
    value = load(reg.scalar(u32), ptx.addr(tile + thread() * 4))  # guilty
    ptx.bar.sync(0)
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0917")
def async_group_not_waited(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    mine = thread() * 4
    copy_word(ptx.addr(tile + mine), ptx.addr(x + mine), 4)
    ptx.inst.cp.async_.commit_group()
    if not broken:
        ptx.inst.cp.async_.wait_group(0)
    value = load(reg.scalar(u32), ptx.addr(tile + mine))  # guilty
    ptx.inst.cp.async_.wait_group(0)
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0917")
def async_groups_counted_wrongly(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (128,), name="tile").address()
    mine = thread() * 4
    for stage in range(2):
        to, source = tile + mine + 256 * stage, x + mine + 256 * stage
        copy_word(ptx.addr(to), ptx.addr(source), 4)
        ptx.inst.cp.async_.commit_group()
    ptx.inst.cp.async_.wait_group(1 if broken else 0)
    value = load(reg.scalar(u32), ptx.addr(tile + mine, 256))  # guilty
    ptx.inst.cp.async_.wait_group(0)
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0917", "PTX0921")
def async_copy_of_another_thread(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    mine = thread() * 4
    copy_word(ptx.addr(tile + mine), ptx.addr(x + mine), 4)
    ptx.inst.cp.async_.wait_all()
    if not broken:
        ptx.bar.sync(0)
    value = load(reg.scalar(u32), ptx.addr(tile + (thread() ^ 32) * 4))  # guilty
    # Before the other thread's copy is under way, nobody has written what is read.
    put(ptx.addr(y + thread() * 4), value)  # guilty


@case("PTX0918")
def stage_refilled_too_early(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    empty = smem.mbarrier(1, name="empty")[0]
    with ptx.if_(thread() == 0):
        ptx.mbarrier.init(empty, 64)
    full = make_barrier()
    total = reg.scalar(u32, init=0)
    for turn in range(2):
        if turn and not broken:
            ptx.mbarrier.wait(empty, 0)
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(full, 256)
            ptx.fence.proxy_async()
            bulk_in(ptx.addr(tile), ptx.addr(x + 256 * turn), 256, ptx.addr(full))  # guilty
        ptx.mbarrier.wait(full, turn)
        ptx.inst.add.u32(total, total, load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))
        if not turn:
            ptx.mbarrier.arrive(empty)
    put(ptx.addr(y + thread() * 4), total)


@case("PTX0918")
def source_of_a_store_overwritten(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    with ptx.if_(thread() == 0):
        for i in range(4):
            store(ptx.addr(tile + 4 * i), i)
        ptx.fence.proxy_async()
        bulk_out(ptx.addr(y), ptx.addr(tile), 16)
        ptx.inst.cp.async_.bulk.commit_group()
        if not broken:
            ptx.inst.cp.async_.bulk.wait_group.read(0)
        store(ptx.addr(tile), 9)  # guilty
        ptx.inst.cp.async_.bulk.wait_group(0)


@case("PTX0919")
def store_without_proxy_fence(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    store(ptx.addr(tile + thread() * 4), thread())
    if not broken:
        ptx.fence.proxy_async_shared_cta()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 0):
        bulk_out(ptx.addr(y), ptx.addr(tile), 256)  # guilty
        ptx.inst.cp.async_.bulk.commit_group()
        ptx.inst.cp.async_.bulk.wait_group(0)


@case("PTX0919")
def proxy_fence_of_one_thread(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    store(ptx.addr(tile + thread() * 4), thread())
    if broken:
        with ptx.if_(thread() == 0):
            ptx.fence.proxy_async_shared_cta()
    else:
        ptx.fence.proxy_async_shared_cta()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 0):
        bulk_out(ptx.addr(y), ptx.addr(tile), 256)  # guilty
        ptx.inst.cp.async_.bulk.commit_group()
        ptx.inst.cp.async_.bulk.wait_group(0)


@case("PTX0919")
def read_then_refilled_without_fence(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    store(ptx.addr(tile + thread() * 4), thread())
    ptx.bar.sync(0)
    value = load(reg.scalar(u32), ptx.addr(tile + thread() * 4))
    if not broken:
        ptx.fence.proxy_async()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 256)
        bulk_in(ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar))  # guilty
    ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0921")
def shared_memory_without_a_value(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    with ptx.if_(thread() < (63 if broken else 64)):
        store(ptx.addr(tile + thread() * 4), thread())
    ptx.bar.sync(0)
    put(ptx.addr(y + thread() * 4), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))  # guilty


@case("PTX0921")
def register_without_a_value(x: Any, y: Any, *, broken: bool) -> None:
    value = reg.scalar(b32)
    if not broken:
        ptx.inst.mov.b32(value, 1)
    ptx.inst.add.u32(value, value, 1)
    put(ptx.addr(y + thread() * 4), value)  # guilty


@case("PTX0925")
def end_with_a_store_under_way(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (4,), name="tile").address()
    with ptx.if_(thread() == 0):
        for i in range(4):
            store(ptx.addr(tile + 4 * i), i)
        ptx.fence.proxy_async()
        bulk_out(ptx.addr(y), ptx.addr(tile), 16)  # guilty
        ptx.inst.cp.async_.bulk.commit_group()
        if not broken:
            ptx.inst.cp.async_.bulk.wait_group.read(0)


@case("PTX0925")
def end_with_a_load_under_way(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (4,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 16)
        bulk_in(ptx.addr(tile), ptx.addr(x), 16, ptx.addr(bar))  # guilty
        if not broken:
            ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), thread())


@case("PTX0904")
def tile_out_of_bounds(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    source = x + (784 if broken else 768)
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 256)
        bulk_in(ptx.addr(tile), ptx.addr(source), 256, ptx.addr(bar))  # guilty
    ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))


@case("PTX0905")
def tile_misaligned(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (68,), name="tile").address()
    bar = make_barrier()
    to = tile + (8 if broken else 0)
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 256)
        bulk_in(ptx.addr(to), ptx.addr(x), 256, ptx.addr(bar))  # guilty
    ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), load(reg.scalar(u32), ptx.addr(to + thread() * 4)))
