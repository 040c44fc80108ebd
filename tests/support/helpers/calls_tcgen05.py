# SPDX-License-Identifier: Apache-2.0
"""Calls of the helpers of the fifth-generation TensorCore."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import b32, bf16, e4m3, f16, f32, s32, u32
from support.helpers.calls import BLACKWELL, Bench, call

tc = ptx.tcgen05
PAIR = "CTA pairs"


@call("ptx.tcgen05.alloc", targets=BLACKWELL)
@call("ptx.tcgen05.dealloc", targets=BLACKWELL)
@call("ptx.tcgen05.relinquish_alloc_permit", targets=BLACKWELL)
def _(k: Bench) -> None:
    slot = smem.alloc(u32, (1,))
    tc.alloc(slot, 512)
    tc.dealloc(smem.load(u32, slot.address()), k.word(512))
    tc.relinquish_alloc_permit()
    tc.alloc(slot.address(), k.word(64))
    tc.alloc(slot, 96, exclusive=True)
    tc.dealloc(k.word(), 96, exclusive=True)


@call("ptx.tcgen05.ld", targets=BLACKWELL)
@call("ptx.tcgen05.st", targets=BLACKWELL)
@call("ptx.tcgen05.wait_ld", targets=BLACKWELL)
@call("ptx.tcgen05.wait_st", targets=BLACKWELL)
def _(k: Bench) -> None:
    taddr = k.tmem()
    shapes = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}
    for shape, registers in shapes.items():
        for count in (1, 2, 4, 8, 16, 32):
            values = reg.array(b32, registers * count)
            tc.ld(values, ptx.addr(taddr, 64), shape=shape, count=count)
            tc.wait_ld()
            tc.st(taddr, values, shape=shape, count=count)
            tc.wait_st()
    tc.ld(reg.array(b32, 2), taddr)
    tc.ld(reg.array(b32, 4), taddr, shape="32x32b", count=4, pack=True)
    tc.st(taddr, k.regs(b32, 4), shape="32x32b", count=4, unpack=True)
    tc.ld(reg.array(b32, 8), taddr, shape="16x32bx2", count=8, split=16)
    tc.st(taddr, k.regs(b32, 8), shape="16x32bx2", count=8, split=16)
    tc.ld(reg.array(f32, 128), taddr, shape="32x32b", count=128)


@call("ptx.tcgen05.ld_red", targets=("sm_103a",))
def _(k: Bench) -> None:
    tc.ld_red(reg.array(f32, 4), reg.scalar(f32), k.tmem(), op="max", dtype=f32, count=4, abs=True)
    tc.ld_red(reg.array(s32, 2), reg.scalar(s32), k.tmem(), op="min", dtype=s32)


@call("ptx.tcgen05.cp", targets=BLACKWELL)
def _(k: Bench) -> None:
    desc = tc.descriptor(k.tile(), stride_bytes=1024)
    for size in ("128x256b", "128x128b", "4x256b"):
        tc.cp(k.tmem(), desc, size=size)
    tc.cp(k.tmem(), desc, size="64x128b", multicast="warpx2::02_13")
    tc.cp(ptx.addr(k.tmem(), 4), desc, size="32x128b", multicast="warpx4")
    tc.cp(k.tmem(), desc, size="128x256b", src_format="b6x16_p32")


@call("ptx.tcgen05.shift", targets=BLACKWELL)
def _(k: Bench) -> None:
    tc.shift(k.tmem())


@call("ptx.tcgen05.commit", targets=BLACKWELL)
@call("ptx.tcgen05.fence_before_thread_sync", targets=BLACKWELL)
@call("ptx.tcgen05.fence_after_thread_sync", targets=BLACKWELL)
def _(k: Bench) -> None:
    bar = k.bar()
    tc.commit(bar)
    tc.commit(bar, multicast=True, multicast_mask=3)
    tc.commit(bar, multicast_mask=k.word(3), pred=k.predicate())
    tc.commit(k.wide(), space=None)
    tc.fence_before_thread_sync()
    tc.fence_after_thread_sync()


@call("ptx.tcgen05.alloc", "pair", BLACKWELL, PAIR)
@call("ptx.tcgen05.mma", "pair", BLACKWELL, PAIR)
def _(k: Bench) -> None:
    slot = smem.alloc(u32, (1,))
    tc.alloc(slot, 512, cta_group=2)
    tc.cp(k.tmem(), tc.masked_descriptor(k.tile()), size="128x256b", cta_group=2)
    tc.shift(k.tmem(), cta_group=2)
    pair = tc.make_instr_desc_f16bf16_f32(m=256, n=64)
    a, b = smem.wgmma_tile(bf16, (128, 64)), smem.wgmma_tile(bf16, (64, 64))
    tc.mma(k.tmem(), a, b, pair, cta_group=2, disable_output_lane=k.regs(b32, 8))
    tc.commit(k.bar(), cta_group=2, multicast=True, multicast_mask=3)
    tc.dealloc(k.word(), 512, cta_group=2)
    tc.relinquish_alloc_permit(cta_group=2)


@call("ptx.tcgen05.descriptor")
@call("ptx.tcgen05.auto_descriptor")
@call("ptx.tcgen05.masked_descriptor")
def _(k: Bench) -> None:
    tile = k.tile()
    tc.descriptor(tile, stride_bytes=1024)
    for swizzle in (None, "32B", "64B", "128B", "128B_32B"):
        tc.descriptor(
            tile.address(), stride_bytes=512, leading_bytes=4096, swizzle=swizzle, byte_offset=32
        )
    tc.auto_descriptor(tile, dtype=bf16, shape=(64, 64), major="K", k_offset=16)
    tc.auto_descriptor(
        smem.wgmma_tile(f16, (64, 128), "MN"), dtype=f16, shape=(64, 128), major="MN"
    )
    tc.auto_descriptor(k.word(), dtype="e4m3", shape=(32, 128), major="MN")
    tc.masked_descriptor(tile.address())
    tc.masked_descriptor(tile, byte_offset=64)


# --- products -----------------------------------------------------------------------------------

_DESC: dict[str, Any] = {
    "f16": tc.make_instr_desc_f16bf16_f32,
    "tf32": tc.make_instr_desc_tf32_f32,
    "f8f6f4": tc.make_instr_desc_f8f6f4,
    "i8": tc.make_instr_desc_i8_s32,
    "mxf8f6f4": tc.make_instr_desc_mxf8f6f4,
    "mxf4": tc.make_instr_desc_mxf4,
    "mxf4nvf4": tc.make_instr_desc_mxf4nvf4,
}


def _product(k: Bench, kind: str, n: int = 128, m: int = 128, **options: Any) -> None:
    sparse = options.get("sparse", False)
    group = options.get("cta_group", 1)
    ws = options.get("ws", False)
    m = 256 if group == 2 else m
    shape: dict[str, Any] = {"m": m, "n": n, "sparse": sparse, "cta_group": group, "ws": ws}
    if kind == "mxf4nvf4" and options.get("scale_vec") == "2X":
        shape["scale_dtype"] = "ue8m0"
    if sparse:
        options["sp_meta"] = k.tmem()
    if kind.startswith("mx"):
        options |= {"scale_a": k.tmem(), "scale_b": k.tmem()}
    a: Any = k.tmem() if options.get("a_is_tmem") else tc.masked_descriptor(k.tile())
    b = tc.masked_descriptor(k.tile())
    tc.mma(k.tmem(), a, b, _DESC[kind](**shape), kind=kind, **options)


def _kinds(*kinds: str, targets: tuple[str, ...] = BLACKWELL, **options: Any) -> None:
    for kind in kinds:
        kernel = PAIR if options.get("cta_group") == 2 else "one CTA"

        @call("ptx.tcgen05.mma", f"{kind} {options}", targets, kernel)
        def _(k: Bench, kind: str = kind) -> None:
            _product(k, kind, **options)


_FLOATS = ("f16", "tf32", "f8f6f4")
_SCALED = ("mxf8f6f4", "mxf4")
for _pair in (1, 2):
    _kinds(*_FLOATS, *_SCALED, cta_group=_pair)
    _kinds(*_FLOATS, *_SCALED, cta_group=_pair, sparse=True)
    _kinds("i8", targets=("sm_100a",), cta_group=_pair)
    _kinds("i8", targets=("sm_100a",), cta_group=_pair, sparse=True)
    for _vector in ("2X", "4X"):
        _kinds("mxf4nvf4", cta_group=_pair, scale_vec=_vector)
        _kinds("mxf4nvf4", cta_group=_pair, scale_vec=_vector, sparse=True)
_kinds(*_FLOATS, *_SCALED, a_is_tmem=True)
_kinds(*_FLOATS, a_is_tmem=True, ashift=True, collector_a="lastuse")
for _use in ("fill", "use", "lastuse", "discard"):
    _kinds(*_FLOATS, *_SCALED, collector_a=_use)
    _kinds(*_FLOATS, ws=True, collector_b=_use, collector_buffer=2)
_kinds(*_FLOATS, ws=True)
_kinds(*_FLOATS, ws=True, sparse=True)
_kinds(*_FLOATS, ws=True, m=32, n=64)
_kinds("f16", "tf32", scale_d=3)
_kinds("mxf8f6f4", "mxf4", scale_vec="block32")
_kinds("mxf4nvf4", scale_vec="block16")
_kinds("f16", enable_input_d=False)


@call("ptx.tcgen05.mma", "tiles, masks, predicates", BLACKWELL)
def _(k: Bench) -> None:
    a, b = smem.wgmma_tile(bf16, (128, 64)), smem.wgmma_tile(bf16, (64, 64))
    idesc = tc.make_instr_desc_f16bf16_f32(n=64)
    for depth in range(0, 64, 16):
        tc.mma(k.tmem(), a, b, idesc, a_k_offset=depth, b_k_offset=depth, enable_input_d=depth > 0)
    across = smem.wgmma_tile(bf16, (64, 64), "MN")
    tc.mma(k.tmem(), a, across, tc.make_instr_desc_f16bf16_f32(n=64, transpose_b=True))
    p = k.predicate()
    tc.mma(k.tmem(), a, b, k.word(idesc), enable_input_d=p, pred=~p)
    tc.mma(k.tmem(), a, b, idesc, enable_input_d=~p)
    tc.mma(ptx.addr(k.tmem(), 64), a, b, idesc, disable_output_lane=k.regs(b32, 4))
    mask = tc.make_zero_column_mask(skip_columns=3, zero_columns=4)
    stationary = tc.make_instr_desc_f16bf16_f32(m=64, n=64, ws=True)
    tc.mma(k.tmem(), a, b, stationary, ws=True, zero_column_mask=mask)


@call("ptx.tcgen05.make_instr_desc_f16bf16_f32")
@call("ptx.tcgen05.make_instr_desc_f16_f16")
@call("ptx.tcgen05.make_instr_desc_tf32_f32")
@call("ptx.tcgen05.make_instr_desc_f8f6f4")
@call("ptx.tcgen05.make_instr_desc_i8_s32")
@call("ptx.tcgen05.make_instr_desc_mxf8f6f4")
@call("ptx.tcgen05.make_instr_desc_mxf4")
@call("ptx.tcgen05.make_instr_desc_mxf4nvf4")
@call("ptx.tcgen05.make_zero_column_mask")
def _(k: Bench) -> None:
    default = 1 << 4 | 1 << 7 | 1 << 10 | 32 << 17 | 8 << 24
    assert tc.make_instr_desc_f16bf16_f32() == default
    assert tc.make_instr_desc_f16bf16_f32(m=64, n=8, ab_dtype="f16") == 1 << 4 | 1 << 17 | 4 << 24
    assert tc.make_instr_desc_f16bf16_f32(negate_a=True, transpose_b=True) == default | 9 << 13
    assert tc.make_instr_desc_f16_f16(n=64) == 8 << 17 | 8 << 24
    assert tc.make_instr_desc_tf32_f32(n=64) == 1 << 4 | 2 << 7 | 2 << 10 | 8 << 17 | 8 << 24
    assert tc.make_instr_desc_f8f6f4(n=64, a_dtype=e4m3, b_dtype="e2m1") == (
        1 << 4 | 5 << 10 | 8 << 17 | 8 << 24
    )
    assert tc.make_instr_desc_i8_s32(n=64, saturate=True) == (
        1 << 3 | 2 << 4 | 1 << 7 | 1 << 10 | 8 << 17 | 8 << 24
    )
    assert tc.make_instr_desc_mxf8f6f4(n=64, scale_a_id=3) == 8 << 17 | 1 << 23 | 1 << 27 | 3 << 29
    assert tc.make_instr_desc_mxf4(n=64, scale_b_id=2) == (
        2 << 4 | 1 << 7 | 1 << 10 | 8 << 17 | 1 << 23 | 1 << 27
    )
    assert tc.make_instr_desc_mxf4nvf4(n=64) == 1 << 7 | 1 << 10 | 8 << 17 | 1 << 27
    assert tc.make_zero_column_mask(skip_columns=1, zero_columns=1) == 1 << 39
