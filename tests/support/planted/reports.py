# SPDX-License-Identifier: Apache-2.0
"""Planted bugs after public reports, each as a small kernel of our own. See planted_bugs.

Where `follows` is given, the kernel is a programmatic dependent launch: `x` is what the launch
before it writes, which lets its dependents start before it has written anything.
"""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import u32
from support.planted.bugs import WORDS, bulk_in, load, make_barrier, put, store, thread
from support.planted.global_memory import FLAG, block, case, get, poll

BYTES = 4 * WORDS


@case("PTX0943", follows=True)
def gemm_without_the_wait(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/cutlass issue 2760: kernels launched with PDL that never waited for the launch before.
    tile = smem.alloc(u32, (WORDS,), name="tile").address()
    bar = make_barrier()
    with ptx.if_(thread() == 0):
        if not broken:
            ptx.inst.griddepcontrol.wait()
        ptx.mbarrier.arrive_expect_tx(bar, BYTES)
        bulk_in(ptx.addr(tile), ptx.addr(x), BYTES, ptx.addr(bar))  # guilty
    ptx.mbarrier.wait(bar, 0)
    put(ptx.addr(y + thread() * 4), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))


@case("PTX0943", follows=True)
def problem_shape_read_ahead_of_the_wait(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/cutlass issue 2962: the tile scheduler read the first problem's shape when it was made.
    if not broken:
        ptx.inst.griddepcontrol.wait()
    shape = get(reg.scalar(u32), ptx.addr(x))  # guilty
    if broken:
        ptx.inst.griddepcontrol.wait()
    value = get(reg.scalar(u32), ptx.addr(x + thread() * 4))
    put(ptx.addr(y + thread() * 4), value + shape)


@case("PTX0943", threads=96, follows=True)
def scale_factors_loaded_by_a_warp_that_does_not_wait(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/cutlass pull request 3279: every loading warp waited but the one of the scale factors.
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier(2)
    with ptx.if_(thread() == 0):
        ptx.inst.griddepcontrol.wait()
        ptx.mbarrier.arrive_expect_tx(bar, 128)
        bulk_in(ptx.addr(tile), ptx.addr(x), 128, ptx.addr(bar))
    with ptx.if_(thread() == 32):
        if not broken:
            ptx.inst.griddepcontrol.wait()
        ptx.mbarrier.arrive_expect_tx(bar, 128)
        bulk_in(ptx.addr(tile, 128), ptx.addr(x, 128), 128, ptx.addr(bar))  # guilty
    ptx.mbarrier.wait(bar, 0)
    with ptx.if_(thread() < 64):
        put(ptx.addr(y + thread() * 4), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))


@case("PTX0943", follows=True)
def row_sums_read_by_warps_that_nobody_told(x: Any, y: Any, *, broken: bool) -> None:
    # Dao-AILab/flash-attention pull request 2498: the sums of the preprocessing launch.
    with ptx.if_(thread() < 32):
        ptx.inst.griddepcontrol.wait()
    if not broken:
        ptx.bar.sync(0)
    value = reg.scalar(u32, init=0)
    with ptx.if_(thread() >= 32):
        get(value, ptx.addr(x + thread() * 4))  # guilty
    put(ptx.addr(y + thread() * 4), value)


@case("PTX0920", clusters=2)
def serialised_blocks_without_a_fence(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/Fuser pull request 2391: split-K blocks add in turn, and pass a semaphore on.
    with ptx.if_(thread() == 0):
        with ptx.scope():
            ptx.label("turn")
            turn = ptx.inst.ld.volatile.global_.u32(reg.scalar(u32), ptx.addr(y, FLAG))
            ptx.bra("turn", pred=turn != block())
        ptx.inst.membar.gl()
    ptx.bar.sync(0)
    value = get(reg.scalar(u32), ptx.addr(y + thread() * 4))  # guilty
    put(ptx.addr(y + thread() * 4), value + 1)
    if not broken:
        ptx.inst.membar.gl()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 0):
        ptx.inst.st.volatile.global_.u32(ptx.addr(y, FLAG), block() + 1)


@case("PTX0920", clusters=2)
def semaphore_that_only_stores(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/cutlass issue 2775: a store that releases needs no fence behind a barrier.
    with ptx.if_(thread() == 0), ptx.scope():
        ptx.label("turn")
        turn = ptx.inst.ld.acquire.gpu.global_.u32(reg.scalar(u32), ptx.addr(y, FLAG))
        ptx.bra("turn", pred=turn != block())
    ptx.bar.sync(0)
    value = get(reg.scalar(u32), ptx.addr(y + thread() * 4))  # guilty
    put(ptx.addr(y + thread() * 4), value + 1)
    ptx.bar.sync(0)
    with ptx.if_(thread() == 0):
        release = ptx.inst.st.relaxed if broken else ptx.inst.st.release
        release.gpu.global_.u32(ptx.addr(y, FLAG), block() + 1)


@case("PTX0920", threads=32, clusters=2)
def lock_cleared_while_it_is_asked_for(x: Any, y: Any, *, broken: bool) -> None:
    # ROCm/tritonBLAS issue 61: a CTA of stream-K zeroes its lock and nothing orders the store.
    with ptx.if_(thread() == 0):
        if broken:
            put(ptx.addr(y + block() * 4), 0)  # guilty
        other = y + (block() ^ 1) * 4
        ptx.inst.atom.acq_rel.gpu.global_.exch.b32(  # guilty
            reg.scalar(u32), ptx.addr(other), 1
        )


@case("PTX0920")
def aggregate_overwritten_by_the_prefix(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/cccl pull request 4556: thread 0 stored the prefix where later warps still read.
    put(ptx.addr(y, 512), 3, pred=thread() == 0)
    ptx.bar.sync(0)
    aggregate = get(reg.scalar(u32), ptx.addr(y, 512))  # guilty
    if not broken:
        ptx.bar.sync(0)
    put(ptx.addr(y, 512), aggregate + 1, pred=thread() == 0)  # guilty
    put(ptx.addr(y + thread() * 4), aggregate)


@case("PTX0910", "PTX0911", threads=128)
def two_groups_on_one_named_barrier(x: Any, y: Any, *, broken: bool) -> None:
    # flashinfer pull request 4533: the id of one pair of warps was that of another's.
    first = thread() < 64
    mine = reg.scalar(u32, init=1)
    if not broken:
        ptx.inst.selp.u32(mine, 1, 2, first)
    count = reg.scalar(u32)
    ptx.inst.selp.u32(count, 64, 96 if broken else 64, first)
    ptx.inst.barrier.sync(mine, count)  # guilty
    put(ptx.addr(y + thread() * 4), 1)


@case("PTX0920", "PTX0911")
def mailbox_without_an_answer(x: Any, y: Any, *, broken: bool) -> None:
    # NVlabs/cuda-oxide pull request 1066: the next tile's number is written over one not yet read.
    slot = smem.alloc(u32, (1,), name="slot").address()
    full, empty = make_barrier(1, name="full"), make_barrier(32, name="empty")
    total = reg.scalar(u32, init=0)
    for turn in range(3):
        with ptx.if_(thread() == 0):
            if turn > 0 and not broken:
                ptx.mbarrier.wait(empty, (turn - 1) & 1)
            store(ptx.addr(slot), turn)  # guilty
            ptx.mbarrier.arrive(full)
        with ptx.if_(thread() >= 32):
            ptx.mbarrier.wait(full, turn & 1)  # guilty
            total += load(reg.scalar(u32), ptx.addr(slot))  # guilty
            ptx.mbarrier.arrive(empty)
    put(ptx.addr(y + thread() * 4), total)


@case("PTX0920", threads=32, clusters=2)
def flag_polled_without_invalidating(x: Any, y: Any, *, broken: bool) -> None:
    # ROCm/rocm-libraries pull request 8726: stream-K fenced the partials, not the flag.
    with ptx.if_(thread() == 0):
        with ptx.if_(block() == 1):
            put(ptx.addr(y, 4), 5)
            ptx.inst.membar.gl()
            ptx.inst.st.volatile.global_.u32(ptx.addr(y, FLAG), 1)
        with ptx.else_():
            poll(ptx.inst.ld.volatile.global_.u32, y + FLAG)
            if not broken:
                ptx.inst.membar.gl()
            value = get(reg.scalar(u32), ptx.addr(y, 4))  # guilty
            put(ptx.addr(y, 8), value)
