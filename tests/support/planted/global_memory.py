# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of global memory: releases, acquires, scopes, grids. See planted_bugs."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import pred, u32
from support.planted.bugs import bulk_in, bulk_out, load, make_barrier, put, store, thread
from support.planted.bugs import case as any_case

case = partial(any_case, zeroed=True)
get = ptx.inst.ld.global_.u32
FLAG = 1020  # the last word of y: zero at the start


def block() -> Any:
    """The number of the CTA."""
    return reg.from_(ptx.special.ctaid.x(), u32)


def poll(form: Any, flag: Any, value: int = 1, *, name: str = "again") -> None:
    """Load the flag until it has the value."""
    with ptx.scope():
        ptx.label(name)
        seen, waiting = reg.scalar(u32), reg.scalar(pred)
        form(seen, ptx.addr(flag))
        ptx.inst.setp.ne.u32(waiting, seen, value)
        ptx.bra(name, pred=waiting)


@case("PTX0920", threads=32, clusters=2)
def flag_without_release(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0), ptx.if_(thread() == 0):
        put(ptx.addr(y), 7)
        if broken:
            ptx.inst.st.relaxed.gpu.global_.u32(ptx.addr(y, FLAG), 1)
        else:
            ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG)
        value = get(reg.scalar(u32), ptx.addr(y))  # guilty
        put(ptx.addr(y, 4), value)


@case("PTX0920", threads=32, clusters=2)
def flag_without_acquire(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0), ptx.if_(thread() == 0):
        put(ptx.addr(y), 7)
        ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        wait = ptx.inst.ld.relaxed if broken else ptx.inst.ld.acquire
        poll(wait.gpu.global_.u32, y + FLAG)
        value = get(reg.scalar(u32), ptx.addr(y))  # guilty
        put(ptx.addr(y, 4), value)


@case("PTX0920", threads=32, clusters=2)
def volatile_flag_without_fences(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0), ptx.if_(thread() == 0):
        put(ptx.addr(y), 7)
        if not broken:
            ptx.inst.membar.gl()
        ptx.inst.st.volatile.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.volatile.global_.u32, y + FLAG)
        if not broken:
            ptx.inst.membar.gl()
        value = get(reg.scalar(u32), ptx.addr(y))  # guilty
        put(ptx.addr(y, 4), value)


@case("PTX0920", threads=32, clusters=2)
def release_of_too_small_a_scope(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0), ptx.if_(thread() == 0):
        put(ptx.addr(y), 7)
        release = ptx.inst.st.release
        (release.cta if broken else release.gpu).global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0), ptx.scope():
        ptx.label("again")
        seen = ptx.inst.ld.acquire.gpu.global_.u32(reg.scalar(u32), ptx.addr(y, FLAG))  # guilty
        ptx.bra("again", pred=seen == 0)
        put(ptx.addr(y, 4), get(reg.scalar(u32), ptx.addr(y)))


@case("PTX0920", threads=32, clusters=2)
def fence_of_too_small_a_scope(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0), ptx.if_(thread() == 0):
        put(ptx.addr(y), 7)
        fence = ptx.inst.fence.acq_rel
        (fence.cta if broken else fence.gpu)()
        ptx.inst.st.relaxed.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG)
        value = get(reg.scalar(u32), ptx.addr(y))  # guilty
        put(ptx.addr(y, 4), value)


@case("PTX0920", threads=32, clusters=2)
def acquiring_fence_of_the_cluster_only(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0), ptx.if_(thread() == 0):
        put(ptx.addr(y), 7)
        ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.relaxed.gpu.global_.u32, y + FLAG)
        fence = ptx.inst.fence.acq_rel
        (fence.cluster if broken else fence.gpu)()
        value = get(reg.scalar(u32), ptx.addr(y))  # guilty
        put(ptx.addr(y, 4), value)


@case("PTX0920", threads=64, ctas=2)
def cta_scope_between_ctas_of_a_cluster(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(thread() == 0):
        with ptx.if_(block() == 0):
            put(ptx.addr(y), 7)
            (ptx.inst.fence.acq_rel.cta if broken else ptx.inst.fence.acq_rel.cluster)()
            ptx.inst.st.relaxed.cluster.global_.u32(ptx.addr(y, FLAG), 1)
        with ptx.else_():
            poll(ptx.inst.ld.acquire.cluster.global_.u32, y + FLAG)
            value = get(reg.scalar(u32), ptx.addr(y))  # guilty
            put(ptx.addr(y, 4), value)


@case("PTX0920", threads=32, clusters=2)
def one_lane_releases_for_its_warp(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0):
        put(ptx.addr(y + thread() * 4), thread())
        if not broken:
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
        with ptx.if_(thread() == 0):
            ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG)
        value = get(reg.scalar(u32), ptx.addr(y, 20))  # guilty
        put(ptx.addr(y, 512), value)


@case("PTX0920", clusters=2)
def one_warp_releases_for_its_cta(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0):
        put(ptx.addr(y + thread() * 4), thread())
        if not broken:
            ptx.bar.sync(0)
        with ptx.if_(thread() == 0):
            ptx.inst.fence.acq_rel.gpu()
            ptx.inst.st.relaxed.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG)
        value = get(reg.scalar(u32), ptx.addr(y, 40 * 4))  # guilty
        put(ptx.addr(y, 512), value)


@case("PTX0920", clusters=2)
def one_thread_acquires_for_its_cta(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(block() == 0):
        put(ptx.addr(y + thread() * 4), thread())
        ptx.bar.sync(0)
        with ptx.if_(thread() == 0):
            ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_():
        with ptx.if_(thread() == 0):
            poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG)
        if not broken:
            ptx.bar.sync(0)
        value = get(reg.scalar(u32), ptx.addr(y + thread() * 4))  # guilty
        put(ptx.addr(y + thread() * 4, 512), value)


@case("PTX0920", threads=32, clusters=2)
def atomics_of_the_cta_on_one_counter(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(thread() == 0):
        add = ptx.inst.atom.add.relaxed
        (add.cta if broken else add.gpu).global_.u32(  # guilty
            reg.scalar(u32), ptx.addr(y), 1
        )


@case("PTX0920", threads=32, clusters=2)
def red_acquires_nothing(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(thread() == 0):
        with ptx.if_(block() == 0):
            put(ptx.addr(y), 7)
            ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
        with ptx.else_():
            if broken:
                # It comes behind the store, and cannot know it.
                ptx.inst.red.gpu.global_.add.u32(ptx.addr(y, FLAG), 1)
            else:
                poll(ptx.inst.ld.relaxed.gpu.global_.u32, y + FLAG)
            ptx.inst.fence.acq_rel.gpu()
            value = get(reg.scalar(u32), ptx.addr(y))  # guilty
            put(ptx.addr(y, 4), value)


@case("PTX0920", threads=32, clusters=2)
def ctas_write_the_same_words(x: Any, y: Any, *, broken: bool) -> None:
    at = thread() * 4 if broken else (block() * 32 + thread()) * 4
    put(ptx.addr(y + at), block() + 1)  # guilty


@case("PTX0920", threads=32, clusters=2)
def in_place_with_a_halo(x: Any, y: Any, *, broken: bool) -> None:
    mine = (block() * 32 + thread()) * 4
    source = y if broken else x
    put(ptx.addr(y + mine), thread())  # guilty
    value = get(reg.scalar(u32), ptx.addr(source + mine, 4))  # guilty
    if not broken:
        put(ptx.addr(y + mine), value)


@case("PTX0920", clusters=4)
def last_block_without_its_fence(x: Any, y: Any, *, broken: bool) -> None:
    # Every CTA stores a partial sum and takes a ticket; the last one adds them up.
    is_last = smem.alloc(u32, (1,), name="is_last").address()
    with ptx.if_(thread() == 0):
        put(ptx.addr(y + block() * 4), block() + 1)
        ptx.inst.membar.gl()
        ticket, last = reg.scalar(u32), reg.scalar(u32)
        ptx.inst.atom.global_.add.u32(ticket, ptx.addr(y, FLAG), 1)
        if not broken:
            ptx.inst.membar.gl()
        ptx.inst.selp.u32(last, 1, 0, ticket == 3)
        store(ptx.addr(is_last), last)
    ptx.bar.sync(0)
    with ptx.if_(load(reg.scalar(u32), ptx.addr(is_last)) == 1), ptx.if_(thread() < 4):
        value = get(reg.scalar(u32), ptx.addr(y + thread() * 4))  # guilty
        put(ptx.addr(y + thread() * 4, 512), value)


@case("PTX0920", clusters=4)
def ticket_before_the_partial_sums(x: Any, y: Any, *, broken: bool) -> None:
    is_last = smem.alloc(u32, (1,), name="is_last").address()
    put(ptx.addr(y + (block() * 64 + thread()) * 4 - block() * 4), thread(), pred=thread() < 8)
    if not broken:
        ptx.bar.sync(0)
    with ptx.if_(thread() == 32):
        ticket, last = reg.scalar(u32), reg.scalar(u32)
        ptx.inst.atom.acq_rel.gpu.global_.add.u32(ticket, ptx.addr(y, FLAG), 1)
        ptx.inst.selp.u32(last, 1, 0, ticket == 3)
        store(ptx.addr(is_last), last)
    ptx.bar.sync(0)
    with ptx.if_(load(reg.scalar(u32), ptx.addr(is_last)) == 1), ptx.if_(thread() < 4):
        value = get(reg.scalar(u32), ptx.addr(y + thread() * 63 * 4))  # guilty
        put(ptx.addr(y + thread() * 4, 960), value)


@case("PTX0920", threads=32, clusters=4)
def unlock_without_release(x: Any, y: Any, *, broken: bool) -> None:
    with ptx.if_(thread() == 0):
        with ptx.scope():
            ptx.label("again")
            old, taken = reg.scalar(u32), reg.scalar(pred)
            ptx.inst.atom.acquire.gpu.global_.cas.b32(old, ptx.addr(y, FLAG), 0, 1)
            ptx.inst.setp.ne.u32(taken, old, 0)
            ptx.bra("again", pred=taken)
        value = get(reg.scalar(u32), ptx.addr(y))  # guilty
        put(ptx.addr(y), value + 1)  # guilty
        unlock = ptx.inst.atom.relaxed if broken else ptx.inst.atom.release
        unlock.gpu.global_.exch.b32(reg.scalar(u32), ptx.addr(y, FLAG), 0)


@case("PTX0920", clusters=4)
def grid_barrier_without_a_fence(x: Any, y: Any, *, broken: bool) -> None:
    put(ptx.addr(y + block() * 4), block(), pred=thread() == 1)
    ptx.bar.sync(0)
    with ptx.if_(thread() == 0):
        if not broken:
            ptx.inst.fence.acq_rel.gpu()
        ptx.inst.red.relaxed.gpu.global_.add.u32(ptx.addr(y, FLAG), 1)
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG, 4)
    ptx.bar.sync(0)
    with ptx.if_(thread() < 4):
        value = get(reg.scalar(u32), ptx.addr(y + thread() * 4))  # guilty
        put(ptx.addr(y + (block() * 4 + thread()) * 4, 512), value)


@case("PTX0920")
def warps_talk_through_global_memory(x: Any, y: Any, *, broken: bool) -> None:
    put(ptx.addr(y + thread() * 4), 1)  # guilty
    if not broken:
        ptx.bar.sync(0)
    value = get(reg.scalar(u32), ptx.addr(y + (thread() ^ 32) * 4))  # guilty
    put(ptx.addr(y + thread() * 4, 512), value)


@case("PTX0917", threads=32, clusters=2)
def bulk_store_released_before_it_is_done(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (32,), name="tile").address()
    with ptx.if_(block() == 0):
        store(ptx.addr(tile + thread() * 4), thread())
        ptx.inst.fence.proxy.async_.shared__cta()
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        with ptx.if_(thread() == 0):
            bulk_out(ptx.addr(y), ptx.addr(tile), 128)
            ptx.cp.async_.bulk.commit_group()
            # With .read the bytes have left shared memory, no more.
            ptx.cp.async_.bulk.wait_group(0, read=broken)
            ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG)
        value = get(reg.scalar(u32), ptx.addr(y, 20))  # guilty
        put(ptx.addr(y, 512), value)


@case("PTX0919", threads=32, clusters=2)
def bulk_load_of_what_another_cta_stored(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (4,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(block() == 0), ptx.if_(thread() == 0):
        for i in range(4):
            put(ptx.addr(y, 4 * i), i)
        ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, FLAG), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + FLAG)
        if not broken:
            ptx.inst.fence.proxy.async_.global_()
        ptx.mbarrier.arrive_expect_tx(bar, 16)
        bulk_in(ptx.addr(tile), ptx.addr(y), 16, ptx.addr(bar))  # guilty
        ptx.mbarrier.wait(bar, 0)
        put(ptx.addr(y, 512), load(reg.scalar(u32), ptx.addr(tile)))


@case("PTX0918", threads=32)
def overwritten_before_the_bulk_load_is_done(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (4,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, 16)
        bulk_in(ptx.addr(tile), ptx.addr(y), 16, ptx.addr(bar))
        if not broken:
            ptx.mbarrier.wait(bar, 0)
        put(ptx.addr(y), 5)  # guilty
        if broken:
            ptx.mbarrier.wait(bar, 0)
        put(ptx.addr(y, 512), load(reg.scalar(u32), ptx.addr(tile)))
