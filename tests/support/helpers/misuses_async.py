# SPDX-License-Identifier: Apache-2.0
"""What the asynchronous and the matrix helpers must refuse."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import b16, b32, bf16, f16, f32
from support.helpers.calls import Bench, misuse, outside

bulk = ptx.cp.async_.bulk
tc = ptx.tcgen05
BLACKWELL = "sm_100a"

# --- mbarriers ----------------------------------------------------------------------------------
mb = ptx.mbarrier
misuse("ptx.mbarrier.init", "PTX0237", lambda k: mb.init(k.bar(), 0))
misuse("ptx.mbarrier.init", "PTX0237", lambda k: mb.init(smem.mbarrier(2), 1))
misuse("ptx.mbarrier.inval", "PTX0237", lambda k: mb.inval(3))
misuse("ptx.mbarrier.arrive", "PTX0237", lambda k: mb.arrive(k.bar(), 1 << 20))
misuse("ptx.mbarrier.arrive", "PTX0302", lambda k: mb.arrive(k.bar(), 2), "sm_80")
misuse("ptx.mbarrier.arrive_state", "PTX0237", lambda k: mb.arrive_state(k.bar(), 0))
misuse("ptx.mbarrier.arrive_drop", "PTX0237", lambda k: mb.arrive_drop(k.bar(), -1))
misuse("ptx.mbarrier.pending_count", "PTX0237", lambda k: mb.pending_count(k.word()))
misuse("ptx.mbarrier.complete_tx", "PTX0237", lambda k: mb.complete_tx(k.bar(), -16))
misuse("ptx.mbarrier.expect_tx", "PTX0237", lambda k: mb.expect_tx(k.bar(), k.wide()))
misuse("ptx.mbarrier.arrive_expect_tx", "PTX0237", lambda k: mb.arrive_expect_tx(k.bar(), -1))
misuse("ptx.mbarrier.arrive_remote", "PTX0237", lambda k: mb.arrive_remote(k.bar(), k.wide()))
misuse("ptx.mbarrier.try_wait", "PTX0237", lambda k: mb.try_wait(k.bar(), 2))
misuse("ptx.mbarrier.try_wait", "PTX0237", lambda k: mb.try_wait(k.bar(), 0, parity=False))
misuse("ptx.mbarrier.test_wait", "PTX0237", lambda k: mb.test_wait(k.bar(), k.wide()))
misuse("ptx.mbarrier.wait", "PTX0237", lambda k: mb.wait(k.bar(), k.wide()))
misuse("ptx.mbarrier.array", "PTX0504", lambda k: mb.array(k.word(), 4, 2))
misuse("ptx.mbarrier.array", "PTX0237", lambda k: mb.array(k.wide(), 8, 2))
misuse("ptx.mbarrier.pipeline", "PTX0237", lambda k: mb.pipeline(0))
misuse("ptx.pipeline", "PTX0237", lambda k: ptx.pipeline(2, phase=2))
misuse("ptx.mbarrier.Pipeline.advance", "PTX0231", lambda k: _foreign_ring().advance())
misuse("ptx.mbarrier.MbarrierArray.at", "PTX0502", lambda k: smem.mbarrier(2).at(2))
misuse("ptx.mbarrier.MbarrierArray.init_all", "PTX0237", lambda k: smem.mbarrier(2).init_all(0))
misuse(
    "ptx.mbarrier.MbarrierArray.arrive_remote_all",
    "PTX0237",
    lambda k: smem.mbarrier(2).arrive_remote_all(0, 0),
)
for _method, _arguments in {
    "init": (0,), "inval": (3,), "arrive": (0,), "arrive_expect_tx": (-1,), "expect_tx": (-1,),
    "arrive_remote": (0, 0), "try_wait": (2,), "wait": (2,),
}.items():  # fmt: skip
    misuse(
        f"ptx.mbarrier.MbarrierRef.{_method}",
        "PTX0209" if _method == "inval" else "PTX0237",
        lambda k, m=_method, a=_arguments: getattr(k.bar(), m)(*a),
    )


def _foreign_ring() -> Any:
    """A pipeline of another kernel."""
    with Bench("sm_90a"):
        return ptx.pipeline(2)


# --- clusters, fences, registers ----------------------------------------------------------------
for _name in ("arrive", "wait", "sync", "rank"):
    misuse(f"ptx.cluster.{_name}", "PTX0302", lambda k, n=_name: getattr(ptx.cluster, n)(), "sm_80")
misuse(
    "ptx.cluster.map_shared_u32", "PTX0237", lambda k: ptx.cluster.map_shared_u32(k.bar(), k.wide())
)
misuse("ptx.cluster.arrive_remote", "PTX0237", lambda k: ptx.cluster.arrive_remote(k.bar(), 0, 0))
misuse(
    "ptx.cluster.arrive_multicast", "PTX0237", lambda k: ptx.cluster.arrive_multicast(k.bar(), 0)
)
for _name in (
    "proxy_async", "proxy_async_shared_cta", "proxy_async_global", "mbarrier_init",
    "proxy_async_generic_acquire_shared_cluster", "proxy_async_generic_release_shared_cta",
):  # fmt: skip
    misuse(f"ptx.fence.{_name}", "PTX0302", lambda k, n=_name: getattr(ptx.fence, n)(), "sm_80")
for _name in ("acq_rel", "sc", "proxy_tensormap_release"):
    misuse(f"ptx.fence.{_name}", "PTX0202", lambda k, n=_name: getattr(ptx.fence, n)("here"))
misuse(
    "ptx.fence.proxy_tensormap_acquire",
    "PTX0237",
    lambda k: ptx.fence.proxy_tensormap_acquire(k.word()),
)
misuse("ptx.setmaxnreg", "PTX0237", lambda k: ptx.setmaxnreg(100))
misuse("ptx.setmaxnreg_inc", "PTX0237", lambda k: ptx.setmaxnreg_inc(264))
misuse("ptx.setmaxnreg_dec", "PTX0237", lambda k: ptx.setmaxnreg_dec(16))

# --- copies of bytes ----------------------------------------------------------------------------
cp = ptx.cp.async_
misuse("ptx.cp.async_.ca", "PTX0237", lambda k: cp.ca(k.tile(), k.pointer(), 12))
misuse("ptx.cp.async_.ca", "PTX0504", lambda k: cp.ca(ptx.addr(k.word(), 4), k.pointer(), 8))
misuse("ptx.cp.async_.cg", "PTX0237", lambda k: cp.cg(k.tile(), k.pointer(), 8))
misuse("ptx.cp.async_.commit_group", "PTX0302", lambda k: cp.commit_group(), "sm_75")
misuse("ptx.cp.async_.wait_all", "PTX0302", lambda k: cp.wait_all(), "sm_75")
misuse("ptx.cp.async_.wait_group", "PTX0237", lambda k: cp.wait_group(-1))


def _bytes(name: str, **wrong: Any) -> Any:
    def run(k: Bench) -> object:
        arguments: dict[str, Any] = {"dst": k.pointer(), "src": k.tile(), "bytes": 64}
        if name == "load":
            arguments = {"dst": k.tile(), "src": k.pointer(), "bytes": 64, "mbar": k.bar()}
        if name == "prefetch":
            arguments = {"src": k.pointer(), "bytes": 64}
        if name == "copy_to_cluster":
            arguments |= {"dst": k.word(), "mbar": k.word()}
        return getattr(bulk, name)(**(arguments | wrong))

    return run


misuse("ptx.cp.async_.bulk.load", "PTX0237", _bytes("load", bytes=24))
misuse("ptx.cp.async_.bulk.load", "PTX0237", _bytes("load", multicast_mask=0))
misuse("ptx.cp.async_.bulk.store", "PTX0237", _bytes("store", bytes=-16))
misuse("ptx.cp.async_.bulk.reduce", "PTX0210", _bytes("reduce", dtype=f32, op="xor"))
misuse("ptx.cp.async_.bulk.prefetch", "PTX0237", _bytes("prefetch", bytes=8))
misuse("ptx.cp.async_.bulk.copy_to_cluster", "PTX0237", _bytes("copy_to_cluster", bytes=8))
misuse("ptx.cp.async_.bulk.commit_group", "PTX0209", lambda k: bulk.commit_group(pred=k.word()))
misuse("ptx.cp.async_.bulk.wait_group", "PTX0237", lambda k: bulk.wait_group(-1))


# --- copies of boxes ----------------------------------------------------------------------------
def _box(call: Any, rank: int, is_load: bool, **wrong: Any) -> Any:
    def run(k: Bench) -> object:
        arguments: dict[str, Any] = {"src": k.tile(), "dst": k.map(), "coord": (0,) * rank}
        if is_load:
            arguments |= {"src": k.map(), "dst": k.tile(), "mbar": k.bar()}
        for name, value in wrong.items():
            arguments[name] = value(k) if callable(value) else value
        return call(**{name: value for name, value in arguments.items() if value != "absent"})

    return run


for _rank in range(1, 6):
    _few = (0,) * (_rank - 1) if _rank > 1 else (0, 0)
    for _name, _is_load in (("tile", True), ("store", False), ("reduce", False)):
        _call = getattr(bulk.tensor, f"{_name}_{_rank}d")
        _path = f"ptx.cp.async_.bulk.tensor.{_name}_{_rank}d"
        misuse(_path, "PTX0505", _box(_call, _rank, _is_load, coord=_few))
    _call = getattr(bulk, f"tensor_{_rank}d")
    misuse(f"ptx.cp.async_.bulk.tensor_{_rank}d", "PTX0505", _box(_call, _rank, True, coord=_few))
    _call = getattr(bulk.tensor, f"prefetch_{_rank}d")
    misuse(
        f"ptx.cp.async_.bulk.tensor.prefetch_{_rank}d",
        "PTX0505",
        _box(_call, _rank, False, coord=_few, dst="absent", src=lambda k: k.map()),
    )
for _rank in range(3, 6):
    _call = getattr(bulk.tensor, f"im2col_{_rank}d")
    _path = f"ptx.cp.async_.bulk.tensor.im2col_{_rank}d"
    misuse(_path, "PTX0207", _box(_call, _rank, True, offsets=(0,) * (_rank - 1)))
    misuse(
        _path, "PTX0237", _box(_call, _rank, True, offsets=lambda k, n=_rank - 2: (k.word(),) * n)
    )
_tile = bulk.tensor.tile_2d
_path = "ptx.cp.async_.bulk.tensor.tile_2d"
misuse(_path, "PTX0237", _box(_tile, 2, True, src=lambda k: k.word()))
misuse(_path, "PTX0237", _box(_tile, 2, True, coord=lambda k: (k.wide(), 0)))
misuse(_path, "PTX0237", _box(_tile, 2, True, cta_group=3))
misuse(_path, "PTX0302", _box(_tile, 2, True, cta_group=2))
misuse(_path, "PTX0237", _box(_tile, 2, True, mbar=None))
misuse(_path, "PTX0504", _box(_tile, 2, True, dst=lambda k: ptx.addr(k.word(), 64)))
misuse(_path, "PTX0237", _box(_tile, 2, True, multicast_mask=1 << 16))
misuse(
    "ptx.cp.async_.bulk.tensor.reduce_2d",
    "PTX0202",
    _box(bulk.tensor.reduce_2d, 2, False, op="mul"),
)
for _place, _module in (("bulk", bulk), ("bulk.tensor", bulk.tensor)):
    misuse(
        f"ptx.cp.async_.{_place}.gather4_2d",
        "PTX0505",
        _box(_module.gather4_2d, 2, True),
        BLACKWELL,
    )
    misuse(
        f"ptx.cp.async_.{_place}.scatter4_2d",
        "PTX0505",
        _box(_module.scatter4_2d, 4, False),
        BLACKWELL,
    )
misuse(
    "ptx.cp.async_.bulk.tensor.prefetch_gather4_2d",
    "PTX0505",
    lambda k: bulk.tensor.prefetch_gather4_2d(src=k.map(), coord=(0, 1)),
    BLACKWELL,
)
misuse("ptx.tma.load_3d", "PTX0237", lambda k: ptx.tma.load_3d(k.tile(), k.map(), 0, 0))
misuse(
    "ptx.tma.load_3d_multicast",
    "PTX0237",
    lambda k: ptx.tma.load_3d_multicast(k.tile(), k.map(), 0, 0, k.bar(), 0),
)
misuse("ptx.tma.store_3d", "PTX0505", lambda k: ptx.tma.store_3d(k.map(), k.tile(), coords=(0, 0)))


# --- mma.sync, ldmatrix, stmatrix ---------------------------------------------------------------
def _mma(**wrong: Any) -> Any:
    def run(k: Bench) -> object:
        arguments: dict[str, Any] = {
            "shape": (16, 8, 16), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "dtype_c": f32,
            "d": reg.array(f32, 4), "a": k.regs(b32, 4), "b": k.regs(b32, 2), "c": k.regs(f32, 4),
        }  # fmt: skip
        for name, value in wrong.items():
            arguments[name] = value(k) if callable(value) else value
        return ptx.mma.sync(**arguments)

    return run


misuse("ptx.mma.sync", "PTX0207", _mma(a=lambda k: k.regs(b32, 2)))
misuse("ptx.mma.sync", "PTX0206", _mma(a=lambda k: k.regs(f32, 4)))
misuse("ptx.mma.sync", "PTX0202", _mma(shape=(16, 16, 16)))
misuse("ptx.mma.sync", "PTX0210", _mma(dtype_b="tf32"))
misuse("ptx.mma.sync", "PTX0203", _mma(b_layout="row"))
misuse("ptx.mma.sync", "PTX0203", _mma(satfinite=True))
misuse("ptx.mma.sync", "PTX0237", _mma(bit_op="xor"))
misuse(
    "ptx.mma.sync",
    "PTX0208",
    _mma(sp_meta=lambda k: k.word(), sp_selector=4, a=lambda k: k.regs(b32, 2)),
)
misuse("ptx.mma.sync", "PTX0237", _mma(scale_a=lambda k: k.word()), "sm_120a")
misuse("ptx.mma.sync", "PTX0234", _mma(c=lambda k: (None,) * 4))


def _scaled(**wrong: Any) -> Any:
    return _mma(
        shape=(16, 8, 32), dtype_a="e4m3", dtype_b="e4m3", kind="mxf8f6f4",
        scale_a=lambda k: k.word(), scale_b=lambda k: k.word(), **wrong,
    )  # fmt: skip


misuse("ptx.mma.sync", "PTX0237", _scaled(select_a=(0, 4)), "sm_120a")
misuse("ptx.mma.sync", "PTX0237", _scaled(select_b=(0, 1, 2)), "sm_120a")
misuse("ptx.mma.sync", "PTX0203", _scaled(scale_vec="4X"), "sm_120a")
misuse("ptx.ldmatrix", "PTX0207", lambda k: ptx.ldmatrix(dst=reg.array(b32, 2), src=k.tile()))
misuse(
    "ptx.ldmatrix",
    "PTX0202",
    lambda k: ptx.ldmatrix(dst=reg.array(b32, 3), src=k.tile(), layout="x3"),
)
misuse("ptx.ldmatrix", "PTX0237", lambda k: ptx.ldmatrix(dst=k.word(), src=k.tile(), layout="x1"))
misuse("ptx.ldmatrix", "PTX0237", lambda k: ptx.ldmatrix(dst=reg.array(b32, 4), src=1.5))
misuse(
    "ptx.ldmatrix",
    "PTX0504",
    lambda k: ptx.ldmatrix(dst=reg.array(b32, 4), src=ptx.addr(k.word(), 8)),
)
misuse(
    "ptx.stmatrix",
    "PTX0504",
    lambda k: ptx.stmatrix(smem=ptx.addr(k.word(), 2), regs=k.regs(b32, 4)),
)
misuse("ptx.stmatrix", "PTX0207", lambda k: ptx.stmatrix(smem=k.tile(), regs=k.regs(b32, 3)))
misuse(
    "ptx.stmatrix",
    "PTX0203",
    lambda k: ptx.stmatrix(smem=k.tile(), regs=k.regs(b32, 4), shape="m16n8"),
    BLACKWELL,
)


def _epilogue(**wrong: Any) -> Any:
    def run(k: Bench) -> object:
        arguments: dict[str, Any] = {
            "frag": k.regs(f32, 8), "smem_base": k.tile(), "lane": k.word(), "row_stride": 128,
        }  # fmt: skip
        for name, value in wrong.items():
            arguments[name] = value(k) if callable(value) else value
        return ptx.stmatrix_x4_trans_f32_bf16(**arguments)

    return run


_name = "ptx.stmatrix_x4_trans_f32_bf16"
misuse(_name, "PTX0507", _epilogue(frag=lambda k: k.regs(f32, 12)))
misuse(_name, "PTX0237", _epilogue(row_stride=100))
misuse(_name, "PTX0237", _epilogue(lane=lambda k: k.wide()))
misuse(_name, "PTX0507", _epilogue(tmp_bf16=lambda k: k.regs(b16, 4)))
misuse(_name, "PTX0507", _epilogue(tmp_pack=lambda k: k.regs(b32, 8)))
misuse(_name, "PTX0237", _epilogue(tmp_pack=lambda k: k.regs(b16, 4)))


# --- wgmma --------------------------------------------------------------------------------------
def _wgmma(**wrong: Any) -> Any:
    def run(k: Bench) -> object:
        arguments: dict[str, Any] = {
            "shape": (64, 64, 16), "dtype_d": f32, "dtype_a": f16, "dtype_b": f16,
            "d": k.regs(f32, 32), "a": smem.wgmma_tile(f16, (64, 64)),
            "b": smem.wgmma_tile(f16, (64, 64)),
        }  # fmt: skip
        for name, value in wrong.items():
            arguments[name] = value(k) if callable(value) else value
        return ptx.wgmma.mma_async(**arguments)

    return run


_name = "ptx.wgmma.mma_async"
misuse(_name, "PTX0507", _wgmma(d=lambda k: k.regs(f32, 31)))
misuse(_name, "PTX0506", _wgmma(a=lambda k: smem.wgmma_tile(bf16, (64, 64))))
misuse(_name, "PTX0506", _wgmma(trans_a=1))
misuse(_name, "PTX0237", _wgmma(a=lambda k: k.word()))
misuse(_name, "PTX0237", _wgmma(b=lambda k: k.regs(b32, 4)))
misuse(_name, "PTX0237", _wgmma(scale_a=2))
misuse(_name, "PTX0237", _wgmma(a_k_offset=8))
misuse(_name, "PTX0237", _wgmma(scale_d=lambda k: k.wide()))
misuse(_name, "PTX0203", _wgmma(satfinite=True))
misuse(_name, "PTX0203", _wgmma(sp_meta=lambda k: k.word()))
misuse(_name, "PTX0506", _wgmma(a=lambda k: smem.wgmma_tile(f16, (32, 64))))
misuse(_name, "PTX0506", _wgmma(b=lambda k: smem.wgmma_tile(f16, (32, 64))))
misuse(_name, "PTX0506", _wgmma(a_k_offset=64))
misuse(_name, "PTX0302", _wgmma(), BLACKWELL)
misuse("ptx.wgmma.fence", "PTX0302", lambda k: ptx.wgmma.fence(), BLACKWELL)
misuse("ptx.wgmma.commit_group", "PTX0302", lambda k: ptx.wgmma.commit_group(), "sm_120a")
misuse("ptx.wgmma.wait_group", "PTX0237", lambda k: ptx.wgmma.wait_group(9))
misuse(
    "ptx.wgmma.make_descriptor",
    "PTX0237",
    lambda k: ptx.wgmma.make_descriptor(k.tile(), leading_byte_offset=8, stride_byte_offset=1024),
)
misuse(
    "ptx.wgmma.make_descriptor",
    "PTX0504",
    lambda k: ptx.wgmma.make_descriptor(
        k.tile(), leading_byte_offset=16, stride_byte_offset=1024, addr_byte_offset=8
    ),
)
misuse(
    "ptx.wgmma.auto_descriptor",
    "PTX0506",
    lambda k: ptx.wgmma.auto_descriptor(k.word(), dtype=bf16, shape=(60, 64), major="K"),
)
misuse(
    "ptx.wgmma.masked_descriptor",
    "PTX0237",
    lambda k: ptx.wgmma.masked_descriptor(k.word(), byte_offset=8),
)


# --- tcgen05 ------------------------------------------------------------------------------------
def _tcgen05(name: str, code: str, run: Any) -> None:
    misuse(f"ptx.tcgen05.{name}", code, run, BLACKWELL)


_tcgen05("alloc", "PTX0208", lambda k: tc.alloc(k.word(), 96))
_tcgen05("alloc", "PTX0237", lambda k: tc.alloc(k.word(), 128, cta_group=3))
_tcgen05(
    "alloc", "PTX0237", lambda k: (tc.alloc(k.word(), 128), tc.alloc(k.word(), 128, cta_group=2))
)
_tcgen05("dealloc", "PTX0237", lambda k: tc.dealloc(k.wide(), 128))
_tcgen05("relinquish_alloc_permit", "PTX0237", lambda k: tc.relinquish_alloc_permit(cta_group=0))
_tcgen05("ld", "PTX0207", lambda k: tc.ld(reg.array(b32, 3), k.tmem()))
_tcgen05("ld", "PTX0202", lambda k: tc.ld(reg.array(b32, 2), k.tmem(), shape="8x8b"))
_tcgen05("ld", "PTX0237", lambda k: tc.ld(reg.array(b32, 2), k.wide()))
_tcgen05("ld", "PTX0237", lambda k: tc.ld(reg.array(b32, 2), k.tile()))
_tcgen05("ld", "PTX0204", lambda k: tc.ld(reg.array(b32, 2), k.tmem(), shape="16x32bx2", count=2))
_tcgen05(
    "ld_red",
    "PTX0302",
    lambda k: tc.ld_red(k.regs(f32, 2), reg.scalar(f32), k.tmem(), op="max", dtype=f32),
)
_tcgen05("st", "PTX0207", lambda k: tc.st(k.tmem(), k.regs(b32, 1)))
_tcgen05("cp", "PTX0210", lambda k: tc.cp(k.tmem(), k.wide(), size="32x128b"))
_tcgen05("cp", "PTX0237", lambda k: tc.cp(k.tmem(), k.word(), size="128x256b"))
_tcgen05("shift", "PTX0237", lambda k: tc.shift(k.tmem(), cta_group=4))
_tcgen05("commit", "PTX0237", lambda k: tc.commit(k.bar(), multicast=True))
_tcgen05("commit", "PTX0237", lambda k: tc.commit(k.bar(), multicast_mask=0))
_tcgen05("commit", "PTX0203", lambda k: tc.commit(k.bar(), space="cta"))
for _name in ("wait_ld", "wait_st", "fence_before_thread_sync", "fence_after_thread_sync"):
    misuse(f"ptx.tcgen05.{_name}", "PTX0302", lambda k, n=_name: getattr(tc, n)())
_tcgen05("descriptor", "PTX0504", lambda k: tc.descriptor(k.word(), stride_bytes=64, byte_offset=4))
_tcgen05("descriptor", "PTX0506", lambda k: tc.descriptor(k.word(), stride_bytes=1000))
_tcgen05("descriptor", "PTX0237", lambda k: tc.descriptor(k.word(), stride_bytes=1 << 20))
_tcgen05("descriptor", "PTX0237", lambda k: tc.descriptor(k.word(), stride_bytes=64, swizzle="96B"))
_tcgen05("descriptor", "PTX0237", lambda k: tc.descriptor(k.word(), stride_bytes=64, base_offset=8))
_tcgen05(
    "auto_descriptor",
    "PTX0506",
    lambda k: tc.auto_descriptor(k.word(), dtype=bf16, shape=(60, 64), major="K"),
)
_tcgen05("masked_descriptor", "PTX0237", lambda k: tc.masked_descriptor(k.word(), mask=-1))


def _product(idesc: Any = None, **wrong: Any) -> Any:
    def run(k: Bench) -> object:
        options = {name: value(k) if callable(value) else value for name, value in wrong.items()}
        places = {"d": k.tmem(), "a": k.wide(), "b": k.wide()}
        d, a, b = (options.pop(name, place) for name, place in places.items())
        number = tc.make_instr_desc_f16bf16_f32(n=64) if idesc is None else idesc
        return tc.mma(d, a, b, number, **options)

    return run


_tcgen05("mma", "PTX0509", _product(1 << 23))
_tcgen05("mma", "PTX0509", _product(tc.make_instr_desc_f16bf16_f32(m=256)))
_tcgen05("mma", "PTX0509", _product(tc.make_instr_desc_tf32_f32()))
_tcgen05("mma", "PTX0509", _product(tc.make_instr_desc_f16bf16_f32(sparse=True)))
_tcgen05("mma", "PTX0509", _product(sparse=True, sp_meta=lambda k: k.tmem()))
_tcgen05("mma", "PTX0237", _product(sparse=True))
_tcgen05("mma", "PTX0506", _product(a=lambda k: smem.wgmma_tile(bf16, (64, 64))))
_tcgen05("mma", "PTX0506", _product(b=lambda k: smem.wgmma_tile(f16, (64, 64))))
_tcgen05("mma", "PTX0506", _product(b=lambda k: smem.wgmma_tile(bf16, (64, 64), "MN")))
_tcgen05("mma", "PTX0506", _product(a=lambda k: smem.wgmma_tile(bf16, (128, 64)), a_k_offset=64))
_tcgen05("mma", "PTX0237", _product(a=lambda k: k.word()))
_tcgen05("mma", "PTX0237", _product(d=lambda k: k.wide()))
_tcgen05("mma", "PTX0237", _product(ashift=True))
_tcgen05("mma", "PTX0237", _product(scale_a=lambda k: k.tmem()))
_tcgen05("mma", "PTX0237", _product(scale_vec="1X"))
_tcgen05("mma", "PTX0237", _product(collector_buffer=1))
_tcgen05("mma", "PTX0237", _product(zero_column_mask=1))
_tcgen05("mma", "PTX0237", _product(a_k_offset=16))
_tcgen05("mma", "PTX0237", _product(enable_input_d=lambda k: k.wide()))
_tcgen05("mma", "PTX0208", _product(scale_d=16))
_tcgen05("mma", "PTX0202", _product(kind="f17"))
_tcgen05("mma", "PTX0202", _product(collector_a="keep"))
_tcgen05("mma", "PTX0207", _product(disable_output_lane=lambda k: k.regs(b32, 8)))
_tcgen05(
    "mma",
    "PTX0210",
    _product(a=lambda k: k.tmem(), a_is_tmem=True, ashift=True, collector_a="fill"),
)
misuse("ptx.tcgen05.mma", "PTX0302", _product(), "sm_90a")
for _name, _wrong in {
    "f16bf16_f32": {"n": 100}, "f16_f16": {"m": 32}, "tf32_f32": {"n": 0}, "i8_s32": {"n": 40},
    "f8f6f4": {"d_dtype": "s32"}, "mxf8f6f4": {"m": 64}, "mxf4": {"transpose_a": True},
    "mxf4nvf4": {"scale_a_id": 1},
}.items():  # fmt: skip
    _tcgen05(
        f"make_instr_desc_{_name}",
        "PTX0509",
        lambda k, n=_name, w=_wrong: getattr(tc, f"make_instr_desc_{n}")(**w),
    )
_tcgen05("make_instr_desc_f8f6f4", "PTX0237", lambda k: tc.make_instr_desc_f8f6f4(a_dtype="u32"))
_tcgen05(
    "make_zero_column_mask",
    "PTX0237",
    lambda k: tc.make_zero_column_mask(skip_columns=0, zero_columns=1),
)
outside("ptx.tcgen05.alloc", lambda: tc.alloc(0, 32))
