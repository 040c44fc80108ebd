# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of kernels that change a tensor map and copy by it. See planted_bugs.

`x` is a map of 8 rows of 32 words that nobody may write. Each case makes a map of its own in `y`,
with four rows, and copies the box of the whole tensor by it: the other rows are zero.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import u32, u64
from support.planted.bugs import ROWS, WORDS, load, make_barrier, put, store, thread
from support.planted.bugs import case as any_case
from support.planted.global_memory import block, poll

case = partial(any_case, has_map=True, zeroed=True)

BYTES = 4 * WORDS
replace = ptx.inst.tensormap.replace.tile
publish = ptx.inst.tensormap.cp_fenceproxy.global_.shared__cta.tensormap__generic.release
release, acquire = ptx.fence.proxy_tensormap_release, ptx.fence.proxy_tensormap_acquire
get = ptx.inst.ld.global_.u32


def aligned(y: Any) -> Any:
    """The first multiple of 128 in y: where a map may lie."""
    place = reg.scalar(u64)
    ptx.inst.add.u64(place, y, 127)
    ptx.inst.and_.b64(place, place, -128)
    return place


def tile() -> tuple[Any, Any]:
    """Where the box lands, and its mbarrier."""
    return smem.alloc(u32, ROWS, name="tile", align=128).address(), make_barrier()


def copy_map(x: Any, own: Any, *, put: Any = put) -> None:
    """Lane by lane of the first warp."""
    word = get(reg.scalar(u32), ptx.addr(x + thread() * 4))
    put(ptx.addr(own + thread() * 4), word)
    ptx.inst.bar.warp.sync(0xFFFFFFFF)


def bring(box: Any, full: Any, own: Any) -> None:
    """One thread copies the box by the map."""
    ptx.mbarrier.arrive_expect_tx(full, BYTES)
    ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)


def finish(y: Any, box: Any, full: Any) -> None:
    """Wait for the box, and write the first rows."""
    ptx.mbarrier.wait(full, 0)
    put(ptx.addr(y + (thread() + 128) * 4), load(reg.scalar(u32), ptx.addr(box + thread() * 4)))


@case("PTX0946")
def changed_map_that_is_not_acquired(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/cudnn-frontend pull request 1126: the consuming warp did not acquire the new map.
    own, (box, full) = aligned(y), tile()
    with ptx.if_(thread() < 32):
        copy_map(x, own)
        with ptx.if_(thread() == 0):
            replace.global_dim.global_.b1024.b32(ptx.addr(own), 1, 4)
            release()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 32):
        if not broken:
            acquire(own)
        ptx.mbarrier.arrive_expect_tx(full, BYTES)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
    finish(y, box, full)


@case("PTX0946")
def changed_map_that_is_not_released(x: Any, y: Any, *, broken: bool) -> None:
    # flashinfer-ai/flashinfer pull request 4313: maps published by plain stores.
    own, (box, full) = aligned(y), tile()
    with ptx.if_(thread() < 32):
        copy_map(x, own)
        if not broken:
            release()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 32):
        acquire(own)
        ptx.mbarrier.arrive_expect_tx(full, BYTES)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
    finish(y, box, full)


@case("PTX0946")
def map_acquired_before_it_is_changed(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    with ptx.if_(thread() < 32):
        copy_map(x, own)
        with ptx.if_(thread() == 0):
            replace.global_dim.global_.b1024.b32(ptx.addr(own), 1, 4)
            release()
    with ptx.if_(thread() == 32):
        if broken:
            acquire(own)
    ptx.bar.sync(0)
    with ptx.if_(thread() == 32):
        if not broken:
            acquire(own)
        ptx.mbarrier.arrive_expect_tx(full, BYTES)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
    finish(y, box, full)


@case("PTX0946")
def prefetched_but_not_acquired(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    with ptx.if_(thread() < 32):
        copy_map(x, own)
        release()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 32):
        if broken:
            ptx.inst.prefetch.tensormap(ptx.addr(own))
        else:
            acquire(own)
        ptx.mbarrier.arrive_expect_tx(full, BYTES)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
    finish(y, box, full)


@case("PTX0946")
def acquire_of_another_map(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    with ptx.if_(thread() < 32):
        copy_map(x, own)
        copy_map(x, own + 128)
        release()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 32):
        acquire(own)
        use = own + 128 if broken else own
        ptx.mbarrier.arrive_expect_tx(full, BYTES)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=use, coord=(0, 0), mbar=full)  # guilty
    finish(y, box, full)


@case("PTX0946", threads=32, ctas=2)
def release_of_the_cta_to_the_cluster(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    with ptx.if_(ptx.cluster.rank() == 0):
        copy_map(x, own)
        release("cta" if broken else "cluster")
    ptx.cluster.sync()
    with ptx.if_(thread() == 0), ptx.if_(ptx.cluster.rank() == 1):
        acquire(own, "cluster")
        ptx.mbarrier.arrive_expect_tx(full, BYTES)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
        ptx.mbarrier.wait(full, 0)


@case("PTX0946", threads=32, clusters=2)
def map_of_another_cluster(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    with ptx.if_(block() == 0):
        copy_map(x, own)
        with ptx.if_(thread() == 0):
            if not broken:
                release()
            ptx.inst.st.release.gpu.global_.u32(ptx.addr(y, 1020), 1)
    with ptx.else_(), ptx.if_(thread() == 0):
        poll(ptx.inst.ld.acquire.gpu.global_.u32, y + 1020)
        acquire(own)
        ptx.mbarrier.arrive_expect_tx(full, BYTES)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
        ptx.mbarrier.wait(full, 0)


@case("PTX0908")
def map_used_where_it_was_changed(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    draft = smem.alloc(u32, (32,), name="draft", align=128).address()
    with ptx.if_(thread() < 32):
        copy_map(x, draft, put=store)
        with ptx.if_(thread() == 0):
            replace.global_dim.shared__cta.b1024.b32(ptx.addr(draft), 1, 4)
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        publish.gpu.sync.aligned(ptx.addr(own), ptx.addr(draft), 128)
        acquire(own)
        used = reg.scalar(u64)
        if broken:
            ptx.inst.cvt.u64.u32(used, draft)
            ptx.inst.cvta.shared.u64(used, used)
        else:
            ptx.inst.mov.u64(used, own)
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(full, BYTES)
            ptx.cp.async_.bulk.tensor_2d(dst=box, src=used, coord=(0, 0), mbar=full)  # guilty
    finish(y, box, full)


@case("PTX0946")
def draft_copied_by_plain_stores(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    draft = smem.alloc(u32, (32,), name="draft", align=128).address()
    with ptx.if_(thread() < 32):
        copy_map(x, draft, put=store)
        with ptx.if_(thread() == 0):
            replace.global_dim.shared__cta.b1024.b32(ptx.addr(draft), 1, 4)
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        if broken:
            put(ptx.addr(own + thread() * 4), load(reg.scalar(u32), ptx.addr(draft + thread() * 4)))
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
        else:
            publish.gpu.sync.aligned(ptx.addr(own), ptx.addr(draft), 128)
        acquire(own)
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(full, BYTES)
            ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
    finish(y, box, full)


@case("PTX0918")
def map_changed_while_a_copy_uses_it(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    with ptx.if_(thread() < 32):
        copy_map(x, own)
        release()
        acquire(own)
        with ptx.if_(thread() == 0):
            bring(box, full, own)
            if not broken:
                ptx.mbarrier.wait(full, 0)
            replace.global_dim.global_.b1024.b32(ptx.addr(own), 1, 4)  # guilty
    finish(y, box, full)


@case("PTX0917")
def map_brought_by_a_copy_under_way(x: Any, y: Any, *, broken: bool) -> None:
    own, (box, full) = aligned(y), tile()
    draft = smem.alloc(u32, (32,), name="draft", align=128).address()
    with ptx.if_(thread() < 32):
        copy_map(x, draft, put=store)
        ptx.fence.proxy_async_shared_cta()
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        with ptx.if_(thread() == 0):
            ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group(
                ptx.addr(own), ptx.addr(draft), 128
            )
            ptx.inst.cp.async_.bulk.commit_group()
            if not broken:
                ptx.inst.cp.async_.bulk.wait_group(0)
            release()
            acquire(own)
            ptx.mbarrier.arrive_expect_tx(full, BYTES)
            ptx.cp.async_.bulk.tensor_2d(dst=box, src=own, coord=(0, 0), mbar=full)  # guilty
            ptx.inst.cp.async_.bulk.wait_group(0)
    finish(y, box, full)
