# SPDX-License-Identifier: Apache-2.0
"""Calls of the asynchronous helpers: mbarriers, clusters, fences, copies of bytes and boxes."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import bf16, f32, u16, u32, u64
from support.helpers.calls import BLACKWELL, HOPPER_UP, Bench, call

bulk = ptx.cp.async_.bulk

# --- mbarriers ----------------------------------------------------------------------------------


@call("ptx.mbarrier.init")
@call("ptx.mbarrier.inval")
@call("ptx.mbarrier.MbarrierRef.init")
@call("ptx.mbarrier.MbarrierRef.inval")
def _(k: Bench) -> None:
    bar = k.bar()
    ptx.mbarrier.init(bar, 1)
    ptx.mbarrier.inval(bar, pred=k.predicate())
    bar.init(k.word(128))
    bar.inval()


@call("ptx.mbarrier.arrive")
@call("ptx.mbarrier.MbarrierRef.arrive")
def _(k: Bench) -> None:
    bar = k.bar()
    ptx.mbarrier.arrive(bar)
    bar.arrive(pred=k.predicate())


@call("ptx.mbarrier.arrive", "several", HOPPER_UP)
def _(k: Bench) -> None:
    ptx.mbarrier.arrive(k.bar(), 4)
    ptx.mbarrier.arrive(k.bar(), k.word())


@call("ptx.mbarrier.arrive_state")
@call("ptx.mbarrier.pending_count")
@call("ptx.mbarrier.arrive_drop")
@call("ptx.mbarrier.test_wait")
def _(k: Bench) -> None:
    bar = k.bar()
    state = ptx.mbarrier.arrive_state(bar)
    ptx.mbarrier.pending_count(state)
    ptx.mbarrier.test_wait(bar, state, parity=False)
    ptx.mbarrier.test_wait(bar, k.word(0))
    ptx.mbarrier.arrive_drop(bar)


@call("ptx.mbarrier.expect_tx", targets=HOPPER_UP)
@call("ptx.mbarrier.complete_tx", targets=HOPPER_UP)
@call("ptx.mbarrier.arrive_expect_tx", targets=HOPPER_UP)
@call("ptx.mbarrier.MbarrierRef.expect_tx", targets=HOPPER_UP)
@call("ptx.mbarrier.MbarrierRef.arrive_expect_tx", targets=HOPPER_UP)
def _(k: Bench) -> None:
    bar = k.bar()
    ptx.mbarrier.arrive_expect_tx(bar, 8192, pred=k.predicate())
    ptx.mbarrier.expect_tx(bar, k.word(64))
    ptx.mbarrier.complete_tx(bar, 64)
    bar.arrive_expect_tx(128)
    bar.expect_tx(128)


@call("ptx.mbarrier.try_wait", targets=HOPPER_UP)
@call("ptx.mbarrier.wait", targets=HOPPER_UP)
@call("ptx.mbarrier.MbarrierRef.try_wait", targets=HOPPER_UP)
@call("ptx.mbarrier.MbarrierRef.wait", targets=HOPPER_UP)
def _(k: Bench) -> None:
    bar = k.bar()
    ptx.mbarrier.try_wait(bar, 0)
    ptx.mbarrier.try_wait(bar, ptx.mbarrier.arrive_state(bar), parity=False)
    ptx.mbarrier.wait(bar, k.word(0))
    bar.try_wait(1)
    bar.wait(1)


@call("ptx.mbarrier.arrive_remote", targets=HOPPER_UP)
@call("ptx.mbarrier.MbarrierRef.arrive_remote", targets=HOPPER_UP)
@call("ptx.cluster.arrive_remote", targets=HOPPER_UP)
@call("ptx.mbarrier.MbarrierArray.arrive_remote_all", targets=HOPPER_UP)
def _(k: Bench) -> None:
    bars = smem.mbarrier(2)
    ptx.mbarrier.arrive_remote(bars[0], 1)
    bars[1].arrive_remote(k.word(), 2)
    ptx.cluster.arrive_remote(bars[0], 0, n=3)
    bars.arrive_remote_all(1)


@call("ptx.mbarrier.array")
@call("ptx.mbarrier.MbarrierArray.at")
@call("ptx.mbarrier.MbarrierArray.init_all")
def _(k: Bench) -> None:
    bars = ptx.mbarrier.array(smem.alloc(u64, (8,)).address(), 16, 4)
    bars.init_all(128)
    ptx.mbarrier.arrive(bars.at(1))
    ptx.mbarrier.arrive(bars.at(k.word()))


@call("ptx.mbarrier.pipeline")
@call("ptx.pipeline")
@call("ptx.mbarrier.Pipeline.advance")
def _(k: Bench) -> None:
    stage, phase = ptx.pipeline(4).advance()
    ptx.mbarrier.pipeline(3, cursor=stage, phase=phase).advance()


# --- clusters, fences, registers ----------------------------------------------------------------


@call("ptx.cluster.arrive", targets=HOPPER_UP)
@call("ptx.cluster.wait", targets=HOPPER_UP)
@call("ptx.cluster.sync", targets=HOPPER_UP)
@call("ptx.cluster.rank", targets=HOPPER_UP)
def _(k: Bench) -> None:
    ptx.cluster.arrive(aligned=True)
    ptx.cluster.wait(aligned=True)
    ptx.cluster.sync()
    ptx.cluster.rank(reg.scalar(u32))


@call("ptx.cluster.map_shared_u32", targets=HOPPER_UP)
@call("ptx.cluster.arrive_multicast", targets=HOPPER_UP)
def _(k: Bench) -> None:
    bar = k.bar()
    ptx.cluster.map_shared_u32(bar, 1)
    ptx.cluster.arrive_multicast(bar, 0b101)
    ptx.cluster.arrive_multicast(bar, k.word(3), n=2)


@call("ptx.fence.acq_rel")
@call("ptx.fence.sc")
def _(k: Bench) -> None:
    for scope in ("cta", "gpu", "sys"):
        ptx.fence.acq_rel(scope)
        ptx.fence.sc(scope)


@call("ptx.fence.proxy_async", targets=HOPPER_UP)
@call("ptx.fence.proxy_async_shared_cta", targets=HOPPER_UP)
@call("ptx.fence.proxy_async_global", targets=HOPPER_UP)
@call("ptx.fence.proxy_async_generic_acquire_shared_cluster", targets=HOPPER_UP)
@call("ptx.fence.proxy_async_generic_release_shared_cta", targets=HOPPER_UP)
@call("ptx.fence.mbarrier_init", targets=HOPPER_UP)
@call("ptx.fence.proxy_tensormap_acquire", targets=HOPPER_UP)
@call("ptx.fence.proxy_tensormap_release", targets=HOPPER_UP)
def _(k: Bench) -> None:
    ptx.fence.proxy_async()
    ptx.fence.proxy_async_shared_cta()
    ptx.fence.proxy_async_global()
    ptx.fence.proxy_async_generic_acquire_shared_cluster()
    ptx.fence.proxy_async_generic_release_shared_cta()
    ptx.fence.mbarrier_init()
    ptx.fence.proxy_tensormap_release("gpu")
    ptx.fence.proxy_tensormap_acquire(k.map(), "cta")


@call("ptx.setmaxnreg", targets=HOPPER_UP)
@call("ptx.setmaxnreg_inc", targets=HOPPER_UP)
@call("ptx.setmaxnreg_dec", targets=HOPPER_UP)
def _(k: Bench) -> None:
    ptx.setmaxnreg(40, inc=False)
    ptx.setmaxnreg_inc(232)
    ptx.setmaxnreg_dec(24)


# --- copies of bytes ----------------------------------------------------------------------------


@call("ptx.cp.async_.ca")
@call("ptx.cp.async_.cg")
@call("ptx.cp.async_.commit_group")
@call("ptx.cp.async_.wait_group")
@call("ptx.cp.async_.wait_all")
def _(k: Bench) -> None:
    tile, p = k.tile(), k.pointer()
    ptx.cp.async_.ca(tile, p, 4)
    ptx.cp.async_.ca(tile, ptx.addr(p, 8), 8, src_bytes=k.word(4))
    ptx.cp.async_.cg(tile, ptx.addr(p, 16), 16, pred=k.predicate())
    ptx.cp.async_.commit_group()
    ptx.cp.async_.wait_group(1)
    ptx.cp.async_.wait_all()


@call("ptx.cp.async_.bulk.load", targets=HOPPER_UP)
@call("ptx.cp.async_.bulk.store", targets=HOPPER_UP)
@call("ptx.cp.async_.bulk.reduce", targets=HOPPER_UP)
@call("ptx.cp.async_.bulk.prefetch", targets=HOPPER_UP)
@call("ptx.cp.async_.bulk.copy_to_cluster", targets=HOPPER_UP)
@call("ptx.cp.async_.bulk.commit_group", targets=HOPPER_UP)
@call("ptx.cp.async_.bulk.wait_group", targets=HOPPER_UP)
def _(k: Bench) -> None:
    tile, p, bar = k.tile(), k.pointer(), k.bar()
    bulk.load(dst=tile, src=p, bytes=1024, mbar=bar)
    bulk.load(dst=tile, src=p, bytes=k.word(64), mbar=bar, multicast_mask=3)
    bulk.store(dst=p, src=tile, bytes=1024, pred=k.predicate())
    bulk.reduce(dst=p, src=tile, bytes=256, dtype=f32)
    bulk.reduce(dst=p, src=tile, bytes=256, dtype=bf16)
    bulk.reduce(dst=p, src=tile, bytes=256, dtype=u64, op="max")
    bulk.prefetch(src=p, bytes=4096)
    remote = ptx.cluster.map_shared_u32(tile, 1)
    bulk.copy_to_cluster(dst=remote, src=tile, bytes=256, mbar=ptx.cluster.map_shared_u32(bar, 1))
    bulk.commit_group()
    bulk.wait_group(0)
    bulk.wait_group(1, read=True)


# --- copies of boxes ----------------------------------------------------------------------------


def _coordinates(k: Bench, rank: int) -> tuple[Any, ...]:
    return (k.word(0), *range(rank - 1))


def _boxes(rank: int) -> None:
    @call(f"ptx.cp.async_.bulk.tensor_{rank}d", targets=HOPPER_UP)
    @call(f"ptx.cp.async_.bulk.tensor.tile_{rank}d", targets=HOPPER_UP)
    def _(k: Bench) -> None:
        tile, at, bar = k.tile(), _coordinates(k, rank), k.bar()
        for load in (getattr(bulk, f"tensor_{rank}d"), getattr(bulk.tensor, f"tile_{rank}d")):
            load(dst=tile, src=k.map(), coord=at, mbar=bar)
            load(dst=tile, src=k.map(), coord=at, mbar=bar, multicast_mask=k.word(3))
            load(dst=tile, src=k.map(), coord=at, mbar=bar, cache_policy=k.wide())
        getattr(bulk, f"tensor_{rank}d")(dst=k.map(), src=tile, coord=at)

    @call(f"ptx.cp.async_.bulk.tensor.store_{rank}d", targets=HOPPER_UP)
    @call(f"ptx.cp.async_.bulk.tensor.reduce_{rank}d", targets=HOPPER_UP)
    @call(f"ptx.cp.async_.bulk.tensor.prefetch_{rank}d", targets=HOPPER_UP)
    def _(k: Bench) -> None:
        tile, at = k.tile(), _coordinates(k, rank)
        getattr(bulk.tensor, f"store_{rank}d")(dst=k.map(), src=tile, coord=at)
        getattr(bulk.tensor, f"store_{rank}d")(
            dst=k.map(), src=tile, coord=at, cache_policy=k.wide(), pred=k.predicate()
        )
        for op in ("add", "min", "max", "and", "or", "xor", "inc", "dec"):
            getattr(bulk.tensor, f"reduce_{rank}d")(dst=k.map(), src=tile, coord=at, op=op)
        getattr(bulk.tensor, f"prefetch_{rank}d")(src=k.map(), coord=at)

    @call(f"ptx.cp.async_.bulk.tensor.tile_{rank}d", "CTA pair", BLACKWELL)
    def _(k: Bench) -> None:
        getattr(bulk.tensor, f"tile_{rank}d")(
            dst=k.tile(), src=k.map(), coord=_coordinates(k, rank), mbar=k.bar(), cta_group=2
        )


def _im2col(rank: int) -> None:
    @call(f"ptx.cp.async_.bulk.tensor.im2col_{rank}d", targets=HOPPER_UP)
    def _(k: Bench) -> None:
        where: dict[str, Any] = {"dst": k.tile(), "src": k.map(), "mbar": k.bar()}
        load = getattr(bulk.tensor, f"im2col_{rank}d")
        offsets = (reg.scalar(u16, 1), *range(rank - 3))
        load(**where, coord=_coordinates(k, rank), offsets=offsets)
        load(**where, coord=_coordinates(k, rank), offsets=offsets, multicast_mask=1)

    @call(f"ptx.cp.async_.bulk.tensor.im2col_{rank}d", "by width", BLACKWELL)
    def _(k: Bench) -> None:
        getattr(bulk.tensor, f"im2col_{rank}d")(
            dst=k.tile(), src=k.map(), mbar=k.bar(), coord=_coordinates(k, rank),
            offsets=(0, 1), mode="im2col::w",
        )  # fmt: skip

    @call(f"ptx.cp.async_.bulk.tensor.store_{rank}d", "im2col", HOPPER_UP)
    def _(k: Bench) -> None:
        at = _coordinates(k, rank)
        store = getattr(bulk.tensor, f"store_{rank}d")
        store(dst=k.map(), src=k.tile(), coord=at, mode="im2col_no_offs")


for _rank in range(1, 6):
    _boxes(_rank)
for _rank in range(3, 6):
    _im2col(_rank)


@call("ptx.cp.async_.bulk.gather4_2d", targets=BLACKWELL)
@call("ptx.cp.async_.bulk.scatter4_2d", targets=BLACKWELL)
@call("ptx.cp.async_.bulk.tensor.gather4_2d", targets=BLACKWELL)
@call("ptx.cp.async_.bulk.tensor.scatter4_2d", targets=BLACKWELL)
@call("ptx.cp.async_.bulk.tensor.prefetch_gather4_2d", targets=BLACKWELL)
def _(k: Bench) -> None:
    tile, rows, bar = k.tile(), (k.word(0), 3, 1, 4, 1), k.bar()
    for where in (bulk, bulk.tensor):
        where.gather4_2d(dst=tile, src=k.map(), coord=rows, mbar=bar)
        where.gather4_2d(dst=tile, src=k.map(), coord=rows, mbar=bar, cta_group=2)
        where.scatter4_2d(dst=k.map(), src=tile, coord=rows)
    bulk.tensor.prefetch_gather4_2d(src=k.map(), coord=rows)


@call("ptx.tma.load_3d", targets=HOPPER_UP)
@call("ptx.tma.load_3d_multicast", targets=HOPPER_UP)
@call("ptx.tma.store_3d", targets=HOPPER_UP)
def _(k: Bench) -> None:
    tile, bar, x = k.tile(), k.bar(), k.word()
    ptx.tma.load_3d(tile, k.map(), x, 128, bar)
    ptx.tma.load_3d(tile, k.map(), mbar=bar, coords=(0, x, 2))
    ptx.tma.load_3d_multicast(tile, k.map(), x, x, bar, 3)
    ptx.tma.store_3d(k.map(), tile, 0, x)
