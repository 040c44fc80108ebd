# SPDX-License-Identifier: Apache-2.0
"""wgmma of every type, layout, size and sign, dense and sparse: one warpgroup for each product.

Shared memory is filled with elements in no particular order: any bytes are a tile, and the
descriptors alone say which. The strides of a layout are chosen apart from each other and from what
is packed, so that one taken for another shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from record.elements import KINDS, elements, metadata
from record.launch import Bytes, Launch, Part
from record.stream import Stream

_PRODUCTS = 4  # of each kind of input
_TILES = 0x18000  # bytes of shared memory: A, then B
_B_START = 0x6000
_SPANS = (16, 32, 64, 128)  # bytes of a swizzled row; 16: none
_TYPES = {0: 0, 32: 3, 64: 2, 128: 1}  # of layouts in a descriptor
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}


@dataclass(frozen=True)
class _Operand:
    """A tile in shared memory: swizzle span, direction, and where in a pattern it starts."""

    span: int = 128
    is_mn: bool = False
    start: int = 0

    def descriptor(self, base: int) -> tuple[int, int]:
        """Return the bits of a descriptor, and the bytes to add to its start address."""
        if self.span == 16:
            leading, stride = (0x100, 0x280) if self.is_mn else (0x180, 0x310)
        else:
            stride = 8 * self.span
            leading = 3 * stride if self.is_mn else 0x10
        swizzle = _TYPES[0 if self.span == 16 else self.span]
        fields = (leading >> 4) << 16 | (stride >> 4) << 32 | swizzle << 62
        return fields, base + self.start


@dataclass(frozen=True)
class _Form:
    """One product."""

    d: str
    a: str
    b: str
    n: int = 64
    tile_a: _Operand | None = _Operand()  # None: in registers
    tile_b: _Operand = _Operand()
    signs: tuple[int, int] = (1, 1)
    scale_d: int = 1
    saturates: bool = False
    selector: int | None = None  # of a sparse A

    @property
    def is_integer(self) -> bool:
        """Whether D is .s32."""
        return self.d == "s32"

    @property
    def registers(self) -> int:
        """Of D, in one thread."""
        return self.n // (4 if self.d == "f16" else 2)

    @property
    def spelling(self) -> str:
        """The instruction without operands."""
        k = 256 // _BITS[self.a] * (1 if self.selector is None else 2)
        sparse = "" if self.selector is None else ".sp"
        saturates = ".satfinite" if self.saturates else ""
        count = ".and.popc" if self.a == "b1" else ""
        head = f"wgmma.mma_async{sparse}.sync.aligned.m64n{self.n}k{k}{saturates}"
        return f"{head}.{self.d}.{self.a}.{self.b}{count}"

    @property
    def key(self) -> str:
        """What tells this product from all others."""

        def tile(operand: _Operand | None) -> str:
            if operand is None:
                return "registers"
            major = "mn" if operand.is_mn else "k"
            return f"{major}{operand.span}+{operand.start}"

        words = [self.spelling, f"a={tile(self.tile_a)}", f"b={tile(self.tile_b)}"]
        words.append(f"signs={self.signs[0]},{self.signs[1]} scale-d={self.scale_d}")
        return " ".join(words) + ("" if self.selector is None else f" selector={self.selector}")

    def operands(self) -> str:
        """Write the operands that follow D."""
        words = ["{%a0, %a1, %a2, %a3}" if self.tile_a is None else "%rd5", "%rd6"]
        if self.selector is not None:
            words += ["%a4", str(self.selector)]
        words.append("%p1")
        if not self.is_integer:
            words += [str(sign) for sign in self.signs]
            if _BITS[self.a] == 16:
                if self.tile_a is not None:
                    words.append(str(int(self.tile_a.is_mn)))
                words.append(str(int(self.tile_b.is_mn)))
        return ", ".join(words)


_FLOATS = (
    ("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
    ("f32", "e4m3", "e4m3"), ("f32", "e4m3", "e5m2"), ("f32", "e5m2", "e4m3"),
    ("f32", "e5m2", "e5m2"), ("f16", "e4m3", "e4m3"), ("f16", "e5m2", "e4m3"),
)  # fmt: skip
_INTEGERS = tuple(("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8"))
_ALL = (*_FLOATS, *_INTEGERS, ("s32", "b1", "b1"))


def _layouts(types: tuple[str, str, str]) -> Iterator[_Form]:
    """All swizzles of both operands, in every direction that the type has."""
    majors = (False, True) if _BITS[types[1]] == 16 else (False,)
    for span in _SPANS:
        for mn_a in majors:
            for mn_b in majors:
                yield _Form(*types, 64, _Operand(span, mn_a), _Operand(span, mn_b))
        for mn_b in majors:
            yield _Form(*types, 64, None, _Operand(span, mn_b))


def _forms() -> Iterator[_Form]:
    for types in _ALL:
        yield from _layouts(types)
        for n in (8, 16, 24, 32, 96, 192, 256):
            yield _Form(*types, n)
    for n in range(8, 257, 8):
        yield _Form("f32", "bf16", "bf16", n, _Operand(64), _Operand(128))
    for types in _FLOATS:
        for signs in ((1, -1), (-1, 1), (-1, -1)):
            yield _Form(*types, 32, signs=signs)
        yield _Form(*types, 32, None, signs=(-1, 1))
    for types in _ALL:
        yield _Form(*types, 32, scale_d=0)
    for types in _INTEGERS:
        yield _Form(*types, 32, saturates=True)
    # Along K inside a pattern, and at a block of rows that is not the first.
    for span in (32, 64, 128):
        for start in range(32, span, 32):
            yield _Form("f32", "bf16", "bf16", 64, _Operand(span, False, start), _Operand(span))
            yield _Form("f32", "f16", "f16", 64, _Operand(span), _Operand(span, False, start))
    for types in (*_FLOATS, *_INTEGERS):
        for selector in range(2 if _BITS[types[1]] >= 16 else 1):
            form = _Form(*types, 32, selector=selector)
            yield form
            yield replace(form, tile_a=None)
            yield replace(form, tile_a=_Operand(32), tile_b=_Operand(64), n=64)


def _inputs(form: _Form, kind: str) -> Bytes:
    """Make what each product starts with: the tiles, then the registers A, metadata and D."""
    stream = Stream(f"{form.key} {kind}")

    def some(name: str, size: int, lift: int = 0) -> Bytes:
        content = kind if name != "s32" else "like"
        count = _PRODUCTS * size * 8 // (32 if name == "s32" else _bits(name))
        return elements(name, content, count, stream, lift).reshape(_PRODUCTS, -1)

    words = metadata(form.a, _PRODUCTS * 128, stream, is_ordered=False)
    parts = [
        some(form.a, _B_START),
        some(form.b, _TILES - _B_START),
        some(form.a, 4 * 512),
        words.view(np.uint8).reshape(_PRODUCTS, -1),
        some(form.d, form.registers * 512, 25),
    ]
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).reshape(-1)


def _bits(name: str) -> int:
    return 32 if name == "f32" else _BITS[name]


def _text(form: _Form, target: str) -> str:
    count = form.registers
    bytes_in = _TILES + 5 * 512 + count * 512
    lines = [
        ".version 8.4", f".target {target}", ".address_size 64",
        ".extern .shared .align 1024 .b8 tiles[];",
        ".visible .entry k(.param .u64 in, .param .u64 out)", "{",
        ".reg .b64 %rd<16>;", ".reg .b32 %r<16>;", ".reg .b32 %a<8>;", ".reg .pred %p<4>;",
        f".reg .b32 %d<{count}>;",
        "ld.param.u64 %rd1, [in];", "ld.param.u64 %rd2, [out];",
        "mov.u32 %r1, %ctaid.x;", "mov.u32 %r2, %tid.x;", "mov.u32 %r3, tiles;",
        f"mad.wide.u32 %rd1, %r1, {bytes_in}, %rd1;",
        f"mad.wide.u32 %rd2, %r1, {count * 512}, %rd2;",
        # The tiles, 16 bytes of each thread at a time.
        "mad.wide.u32 %rd3, %r2, 16, %rd1;", "mad.lo.u32 %r4, %r2, 16, %r3;", "mov.u32 %r5, 0;",
        "fill:", "ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd3];",
        "st.shared.v4.b32 [%r4], {%r6, %r7, %r8, %r9};",
        "add.u64 %rd3, %rd3, 2048;", "add.u32 %r4, %r4, 2048;", "add.u32 %r5, %r5, 2048;",
        f"setp.lt.u32 %p2, %r5, {_TILES};", "@%p2 bra fill;",
        "mad.wide.u32 %rd3, %r2, 4, %rd1;", f"add.u64 %rd3, %rd3, {_TILES};",
    ]  # fmt: skip
    lines += [f"ld.global.b32 %a{i}, [%rd3+{512 * i}];" for i in range(5)]
    lines += [f"ld.global.b32 %d{i}, [%rd3+{512 * (5 + i)}];" for i in range(count)]
    for register, operand, base in (
        ("%rd5", form.tile_a or _Operand(), 0),
        ("%rd6", form.tile_b, _B_START),
    ):
        fields, start = operand.descriptor(base)
        lines += [
            f"add.u32 %r6, %r3, {start};", "and.b32 %r6, %r6, 0x3FFFF;", "shr.u32 %r6, %r6, 4;",
            "cvt.u64.u32 %rd7, %r6;", f"or.b64 {register}, %rd7, {fields};",
        ]  # fmt: skip
    vector = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    lines += [
        f"setp.ne.u32 %p1, {form.scale_d}, 0;",
        "fence.proxy.async.shared::cta;", "bar.sync 0;", "wgmma.fence.sync.aligned;",
        f"{form.spelling} {vector}, {form.operands()};",
        "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;",
        "mad.wide.u32 %rd4, %r2, 4, %rd2;",
    ]  # fmt: skip
    lines += [f"st.global.b32 [%rd4+{512 * i}], %d{i};" for i in range(count)]
    return "\n".join([*lines, "ret;", "}", ""])


def _kinds(form: _Form) -> tuple[str, ...]:
    """Return the kinds of inputs of a product."""
    is_plain = form.n in (32, 64)
    return ("like", "small") if form.is_integer else KINDS if is_plain else ("like", "wide")


def _launch(form: _Form, target: str) -> Launch:
    kinds = _kinds(form)
    data = np.concatenate([_inputs(form, kind) for kind in kinds])
    results = form.registers * 128
    products = _PRODUCTS * len(kinds)
    out = np.zeros(products * results * 4, np.uint8)
    parts = []
    for number, kind in enumerate(kinds):

        def describe(case: int, kind: str = kind) -> str:
            product, rest = divmod(case, results)
            return f"{kind} product {product}, register {rest // 128}, thread {rest % 128}"

        start = number * _PRODUCTS * results * 4
        parts.append(
            Part(f"{form.key} {kind}", 1, start, 4, _PRODUCTS * results, describe, keep=16)
        )
    return Launch(
        form.key, target, [data, out], parts, _text(form, target), grid=(products, 1, 1),
        block=(128, 1, 1), dynamic_shared=_TILES,
    )  # fmt: skip


class WgmmaSet:
    """Matrix products of a warpgroup."""

    name = "wgmma"
    about = "wgmma, every type, layout, size and sign, dense and sparse"
    targets: tuple[str, ...] = ("sm_90a",)

    def texts(self, target: str) -> Iterator[tuple[list[str], str]]:
        """Give the keys and the text of each launch, without its inputs, which take long."""
        for form in dict.fromkeys(_forms()):
            yield [f"{form.key} {kind}" for kind in _kinds(form)], _text(form, target)

    def launches(self, target: str) -> Iterator[Launch]:
        """One launch for each product."""
        for form in dict.fromkeys(_forms()):
            yield _launch(form, target)
