# SPDX-License-Identifier: Apache-2.0
"""Calls of the matrix helpers of a warp and a warpgroup: mma.sync, ldmatrix, stmatrix, wgmma."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem, types
from pyptx.types import b16, b32, bf16, f16, f32, pred, s32, tf32, u8, u32
from support.helpers.calls import BLACKWELL_UP, CONSUMER, HOPPER, HOPPER_UP, TARGETS, Bench, call

# --- mma.sync: every legal shape ----------------------------------------------------------------

_RESULT = {"f16": b32, "f32": f32, "s32": s32, "f64": types.f64}


def _fragment(k: Bench, name: str, rows: int, columns: int) -> Any:
    """The registers of a warp's share of a matrix of a named type."""
    bits = {"f16": 16, "bf16": 16, "tf32": 32, "b1": 1, "s4": 4, "u4": 4}.get(name, 8)
    bits = {"f32": 32, "s32": 32, "f64": 64}.get(name, bits)
    if name in ("e2m1", "e3m2", "e2m3"):
        bits = 8  # in containers of a byte, but for the 4-bit kinds
    size = 64 if bits == 64 else 32
    return k.regs(_RESULT.get(name, b32), rows * columns * bits // (32 * size))


def _mma(shape: str, d: str, a: str, b: str, targets: tuple[str, ...], **extra: Any) -> None:
    m, n, depth = (int(part) for part in shape.split("x"))

    @call("ptx.mma.sync", f"{shape} {d} {a} {b} {extra}", targets)
    def _(k: Bench) -> None:
        options = dict(extra)
        sparse = options.pop("sparse", None)
        if sparse is not None:
            options |= {"sp_meta": k.word(), "sp_selector": 0, "sp_ordered": sparse}
        if options.pop("scaled", False):
            options |= {"scale_a": k.word(), "scale_b": k.word()}
        packed = 2 if (options.get("kind") or "").startswith("mxf4") else 1  # two to a byte
        four = 4 if shape == "8x8x4" and a != "f64" else 1  # products at once
        ptx.mma.sync(
            shape=(m, n, depth), dtype_d=getattr(types, d), dtype_a=getattr(types, a),
            dtype_b=getattr(types, b), dtype_c=getattr(types, d),
            d=_fragment(k, d, m, four * n), c=_fragment(k, d, m, four * n),
            a=_fragment(k, a, m, four * depth // packed // (1 if sparse is None else 2)),
            b=_fragment(k, b, n, four * depth // packed), **options,
        )  # fmt: skip


for _d in ("f16", "f32"):
    for _layouts in (("row", "col"), ("col", "row"), ("row", "row"), ("col", "col")):
        _mma("8x8x4", _d, "f16", "f16", TARGETS, a_layout=_layouts[0], b_layout=_layouts[1])
    _mma("16x8x8", _d, "f16", "f16", TARGETS)
    _mma("16x8x16", _d, "f16", "f16", TARGETS)
_mma("16x8x8", "f32", "bf16", "bf16", TARGETS)
_mma("16x8x16", "f32", "bf16", "bf16", TARGETS)
_mma("16x8x4", "f32", "tf32", "tf32", TARGETS)
_mma("16x8x8", "f32", "tf32", "tf32", TARGETS)
_mma("8x8x4", "f64", "f64", "f64", TARGETS)
for _depth in (4, 8, 16):
    _mma(f"16x8x{_depth}", "f64", "f64", "f64", HOPPER_UP, rounding="rz")
for _a in ("u8", "s8"):
    for _b in ("u8", "s8"):
        for _shape in ("8x8x16", "16x8x16", "16x8x32"):
            _mma(_shape, "s32", _a, _b, TARGETS, satfinite=_a == _b)
for _a in ("u4", "s4"):
    for _b in ("u4", "s4"):
        for _shape in ("8x8x32", "16x8x32", "16x8x64"):
            _mma(_shape, "s32", _a, _b, TARGETS)
for _op in ("xor", "and"):
    for _shape in ("8x8x128", "16x8x128", "16x8x256"):
        _mma(_shape, "s32", "b1", "b1", TARGETS, bit_op=_op)
_mma("16x8x256", "s32", "b1", "b1", TARGETS)
for _a in ("e4m3", "e5m2"):
    for _b in ("e4m3", "e5m2"):
        for _d in ("f16", "f32"):
            _mma("16x8x16", _d, _a, _b, HOPPER_UP)
            _mma("16x8x32", _d, _a, _b, HOPPER_UP)
for _a in ("e4m3", "e3m2", "e2m3", "e2m1"):
    for _b in ("e5m2", "e3m2", "e2m1"):
        if _a.startswith("e4") and _b.startswith("e5"):
            continue
        _mma("16x8x32", "f32", _a, _b, CONSUMER)
        _mma("16x8x32", "f16", _a, _b, CONSUMER)

# --- mma.sync: sparse and block-scaled ----------------------------------------------------------

for _ordered in (False, True):
    for _d in ("f16", "f32"):
        _mma("16x8x16", _d, "f16", "f16", TARGETS, sparse=_ordered)
        _mma("16x8x32", _d, "f16", "f16", TARGETS, sparse=_ordered)
    _mma("16x8x32", "f32", "bf16", "bf16", TARGETS, sparse=_ordered)
    _mma("16x8x16", "f32", "tf32", "tf32", TARGETS, sparse=_ordered)
    _mma("16x8x64", "s32", "s8", "u8", TARGETS, sparse=_ordered)
    _mma("16x8x128", "s32", "u4", "s4", TARGETS, sparse=_ordered)
    _mma("16x8x64", "f32", "e4m3", "e5m2", HOPPER_UP, sparse=_ordered)
_mma("16x8x64", "f32", "e3m2", "e2m1", CONSUMER, sparse=True)
_mma("16x8x32", "f32", "e4m3", "e2m1", CONSUMER, kind="mxf8f6f4", scaled=True)
_mma("16x8x32", "f32", "e5m2", "e3m2", CONSUMER, kind="mxf8f6f4", scaled=True, scale_vec="1X")
_mma("16x8x64", "f32", "e2m1", "e2m1", CONSUMER, kind="mxf4", scaled=True, select_a=(2, 1))
_mma(
    "16x8x64", "f32", "e2m1", "e2m1", CONSUMER,
    kind="mxf4nvf4", scaled=True, scale_vec="4X", scale_dtype="ue4m3",
)  # fmt: skip
_mma("16x8x64", "f32", "e4m3", "e4m3", CONSUMER, kind="mxf8f6f4", scaled=True, sparse=True)
_mma("16x8x128", "f32", "e2m1", "e2m1", CONSUMER, kind="mxf4", scaled=True, sparse=True)


@call("ptx.mma.sync", "literals in C")
def _(k: Bench) -> None:
    ptx.mma.sync(
        shape=(16, 8, 32), dtype_d="s32", dtype_a="s8", dtype_b="s8", dtype_c="s32",
        d=reg.array(s32, 4), a=k.regs(b32, 4), b=k.regs(b32, 2), c=(0, 0, 0, 0),
    )  # fmt: skip


# --- ldmatrix and stmatrix ----------------------------------------------------------------------


@call("ptx.ldmatrix")
def _(k: Bench) -> None:
    tile = k.tile()
    for layout, count in (("x1", 1), ("x2", 2), ("x4", 4)):
        for trans in (False, True):
            ptx.ldmatrix(dst=reg.array(b32, count), src=tile, layout=layout, trans=trans)
    ptx.ldmatrix(dst=reg.array(b32, 4), src=ptx.addr(tile.address() + ptx.special.laneid(), 16))


@call("ptx.ldmatrix", "bytes", BLACKWELL_UP)
def _(k: Bench) -> None:
    tile = k.tile(u8, (64, 128))
    ptx.ldmatrix(dst=reg.array(b32, 2), src=tile, layout="x1", trans=True, shape="m16n16")
    for format in ("b6x16_p32", "b4x16_p64"):
        ptx.ldmatrix(dst=reg.array(b32, 4), src=tile, shape="m8n16", src_format=format)
        ptx.ldmatrix(
            dst=reg.array(b32, 4), src=tile, layout="x2", trans=True, shape="m16n16",
            src_format=format,
        )  # fmt: skip


@call("ptx.ldmatrix", "4-bit integers", HOPPER_UP)
def _(k: Bench) -> None:
    ptx.ldmatrix(dst=reg.array(b32, 2), src=k.tile(), layout="x2", shape="m8n16", src_format="s4")


@call("ptx.stmatrix", targets=HOPPER_UP)
def _(k: Bench) -> None:
    tile = k.tile()
    for layout, count in (("x1", 1), ("x2", 2), ("x4", 4)):
        for trans in (False, True):
            ptx.stmatrix(smem=tile, regs=k.regs(b32, count), layout=layout, trans=trans)


@call("ptx.stmatrix", "bytes", BLACKWELL_UP)
def _(k: Bench) -> None:
    for layout, count in (("x1", 1), ("x2", 2), ("x4", 4)):
        ptx.stmatrix(
            smem=k.tile(), regs=k.regs(b32, count), layout=layout, trans=True, shape="m16n8"
        )


@call("ptx.stmatrix_x4_trans_f32_bf16", targets=HOPPER_UP)
def _(k: Bench) -> None:
    lane = ptx.special.laneid()
    ptx.stmatrix_x4_trans_f32_bf16(
        frag=k.regs(f32, 32), smem_base=k.tile(), lane=lane, row_stride=128
    )
    ptx.stmatrix_x4_trans_f32_bf16(
        frag=k.regs(f32, 8), smem_base=k.tile().address(), lane=lane, row_stride=144,
        tmp_bf16=reg.array(b16, 8), tmp_pack=reg.array(b32, 4),
    )  # fmt: skip


# --- wgmma --------------------------------------------------------------------------------------


def _wgmma(d: str, a: str, b: str, depth: int, n: int = 64, **extra: Any) -> None:
    @call("ptx.wgmma.mma_async", f"n{n} {d} {a} {b} {extra}", HOPPER)
    def _(k: Bench) -> None:
        options = dict(extra)
        sparse = options.pop("sparse", False)
        in_registers = options.pop("in_registers", False)
        if sparse:
            options |= {"sp_meta": k.word(), "sp_selector": 0}
        stored = {"tf32": f32, "b1": types.b8, "e4m3": u8, "e5m2": u8}
        columns = 2 * depth // (8 if a == "b1" else 1)
        first = smem.wgmma_tile(stored.get(a, getattr(types, a)), (64, columns))
        second = smem.wgmma_tile(stored.get(b, getattr(types, b)), (n, columns))
        result = getattr(types, d)
        half = d == "f16"
        ptx.wgmma.mma_async(
            shape=(64, n, depth), dtype_d=result, dtype_a=getattr(types, a),
            dtype_b=getattr(types, b),
            d=k.regs(b32 if half else result, n // (4 if half else 2)),
            a=k.regs(b32, 4) if in_registers else first, b=second,
            b_k_offset=0 if sparse else depth, **options,
        )  # fmt: skip


for _d in ("f16", "f32"):
    for _n in (8, 24, 128, 256):
        _wgmma(_d, "f16", "f16", 16, _n)
    for _a in ("e4m3", "e5m2"):
        for _b in ("e4m3", "e5m2"):
            _wgmma(_d, _a, _b, 32)
            _wgmma(_d, _a, _b, 64, sparse=True)
    _wgmma(_d, "f16", "f16", 32, sparse=True)
    _wgmma(_d, "f16", "f16", 16, in_registers=True, scale_b=-1)
_wgmma("f32", "bf16", "bf16", 16, scale_d=True, scale_a=-1)
_wgmma("f32", "bf16", "bf16", 32, sparse=True, in_registers=True)
_wgmma("f32", "tf32", "tf32", 8)
_wgmma("f32", "tf32", "tf32", 16, sparse=True)
for _a in ("s8", "u8"):
    for _b in ("s8", "u8"):
        _wgmma("s32", _a, _b, 32, satfinite=_a == _b)
        _wgmma("s32", _a, _b, 64, sparse=True)
        _wgmma("s32", _a, _b, 32, in_registers=True)
_wgmma("s32", "b1", "b1", 256)
_wgmma("s32", "b1", "b1", 256, in_registers=True)


@call("ptx.wgmma.mma_async", "MN-major", HOPPER)
def _(k: Bench) -> None:
    a, b = smem.wgmma_tile(bf16, (64, 64)), smem.wgmma_tile(bf16, (64, 128), "MN")
    p = reg.scalar(pred)
    ptx.setp("ne", u32, p, k.word(), 0)
    ptx.wgmma.mma_async(
        shape=(64, 128, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=k.regs(f32, 64), a=a, b=b,
        scale_d=~p, a_k_offset=16, b_k_offset=16,
    )  # fmt: skip


@call("ptx.wgmma.fence", targets=HOPPER)
@call("ptx.wgmma.commit_group", targets=HOPPER)
@call("ptx.wgmma.wait_group", targets=HOPPER)
def _(k: Bench) -> None:
    ptx.wgmma.fence()
    ptx.wgmma.commit_group()
    ptx.wgmma.wait_group(0)


@call("ptx.wgmma.make_descriptor")
@call("ptx.wgmma.auto_descriptor")
@call("ptx.wgmma.masked_descriptor")
def _(k: Bench) -> None:
    tile = smem.wgmma_tile(f16, (64, 64))
    ptx.wgmma.make_descriptor(tile, leading_byte_offset=16, stride_byte_offset=1024, swizzle=1)
    ptx.wgmma.auto_descriptor(tile, dtype=f16, shape=(64, 64), major="K")
    ptx.wgmma.auto_descriptor(k.word(), dtype=tf32, shape=(64, 32), major="K")
    ptx.wgmma.masked_descriptor(tile.address(), byte_offset=32)
