# SPDX-License-Identifier: Apache-2.0
"""mma and mma.sp of every type and shape that runs on the target: one warp for each product.

Registers are filled with elements in no particular order: any bits are a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from record.elements import KINDS, elements, metadata
from record.launch import Bytes, Launch, Part
from record.stream import Stream

_PRODUCTS = 96  # of each kind of input
_BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "e4m3": 8, "e5m2": 8, "f64": 64,
    "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32,
}  # fmt: skip


@dataclass(frozen=True)
class _Form:
    """One instruction: its words, and how many 32-bit words of a lane each operand takes."""

    spelling: str
    m: int
    k: int
    d: str
    a: str
    b: str
    selectors: int = 0  # of a sparse A
    quads: int = 1  # products that one instruction makes of the lanes' registers

    def words(self, rows: int, columns: int, kind: str) -> int:
        return self.quads * rows * columns * _BITS[kind] // 1024

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Words of D, A, B and the metadata."""
        stored = self.k // 2 if self.selectors else self.k
        return (
            self.words(self.m, 8, self.d),
            self.words(self.m, stored, self.a),
            self.words(8, self.k, self.b),
            1 if self.selectors else 0,
        )


def _dense(m: int, k: int, d: str, a: str, b: str, *, extra: str = "", head: str = "") -> _Form:
    spelling = f"mma.sync.aligned.m{m}n8k{k}.row.col{head}.{d}.{a}.{b}.{d}{extra}"
    return _Form(spelling, m, k, d, a, b)


def _sparse(variant: str, k: int, d: str, a: str, b: str, selectors: int) -> _Form:
    spelling = f"mma.{variant}.sync.aligned.m16n8k{k}.row.col.{d}.{a}.{b}.{d}"
    return _Form(spelling, 16, k, d, a, b, selectors)


def _floats(target: str) -> Iterator[_Form]:
    for k in (8, 16):
        for d in ("f16", "f32"):
            yield _dense(16, k, d, "f16", "f16")
        yield _dense(16, k, "f32", "bf16", "bf16")
        yield _dense(16, k // 2, "f32", "tf32", "tf32")
    for layouts in ("row.col", "row.row", "col.col", "col.row"):
        for d in ("f16", "f32"):
            spelling = f"mma.sync.aligned.m8n8k4.{layouts}.{d}.f16.f16.{d}"
            yield _Form(spelling, 8, 4, d, "f16", "f16", quads=4)
    yield _dense(8, 4, "f64", "f64", "f64")
    if target != "sm_90a":
        return
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            for d in ("f32", "f16"):
                for k in (16, 32):
                    yield _dense(16, k, d, a, b)
    for k in (4, 8, 16):
        yield _dense(16, k, "f64", "f64", "f64")
    for rounding in ("rz", "rm", "rp"):
        yield _dense(16, 8, "f64", "f64", "f64", extra=f".{rounding}")


def _integers() -> Iterator[_Form]:
    for a in ("s8", "u8"):
        for b in ("s8", "u8"):
            for m, k in ((8, 16), (16, 16), (16, 32)):
                yield _dense(m, k, "s32", a, b)
                yield _dense(m, k, "s32", a, b, head=".satfinite")
    for kind in ("s4", "u4"):
        for m, k in ((8, 32), (16, 32), (16, 64)):
            yield _dense(m, k, "s32", kind, kind)
            yield _dense(m, k, "s32", kind, kind, head=".satfinite")
    for bitop in (".xor.popc", ".and.popc"):
        for m, k in ((8, 128), (16, 128), (16, 256)):
            yield _dense(m, k, "s32", "b1", "b1", extra=bitop)


def _sparses(target: str) -> Iterator[_Form]:
    for variant in ("sp", "sp::ordered_metadata"):
        for d in ("f16", "f32"):
            yield _sparse(variant, 16, d, "f16", "f16", 4)
            yield _sparse(variant, 32, d, "f16", "f16", 2)
        yield _sparse(variant, 16, "f32", "bf16", "bf16", 4)
        yield _sparse(variant, 32, "f32", "bf16", "bf16", 2)
        yield _sparse(variant, 8, "f32", "tf32", "tf32", 4)
        yield _sparse(variant, 16, "f32", "tf32", "tf32", 2)
        for kind in ("s8", "u8"):
            yield _sparse(variant, 32, "s32", kind, kind, 2)
            yield _sparse(variant, 64, "s32", kind, kind, 1)
        for kind in ("s4", "u4"):
            yield _sparse(variant, 64, "s32", kind, kind, 2)
            yield _sparse(variant, 128, "s32", kind, kind, 1)
        if target == "sm_90a":
            yield _sparse(variant, 64, "f32", "e4m3", "e5m2", 1)


def _inputs(form: _Form, kind: str) -> Bytes:
    """Make the words of A, B, C and metadata of all products: [product][word][lane]."""
    stream = Stream(f"{form.spelling} {kind}")
    d, a, b, meta = form.sizes
    parts = []
    for name, words, lift in ((form.a, a, 0), (form.b, b, 0), (form.d, d, 30)):
        count = _PRODUCTS * words * 32 * 32 // _BITS[name]
        content = kind if name != "s32" else "like"
        parts.append(elements(name, content, count, stream, lift).reshape(_PRODUCTS, -1))
    if meta:
        ordered = "ordered" in form.spelling
        words = metadata(form.a, _PRODUCTS * 32, stream, is_ordered=ordered)
        parts.append(words.view(np.uint8).reshape(_PRODUCTS, -1))
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).reshape(-1)


def _vector(prefix: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{first + i}" for i in range(count)) + "}"


def _text(form: _Form, target: str) -> str:
    """Write the kernel: a warp loads its words, multiplies once for each selector, stores D."""
    d, a, b, meta = form.sizes
    is_double = form.d == "f64"
    step, prefix, size = (2, "q", "b64") if is_double else (1, "w", "b32")
    count = (a + b + d) // step
    lines = [
        ".version 8.7", f".target {target}", ".address_size 64",
        ".visible .entry k(.param .u64 in, .param .u64 out)", "{",
        ".reg .b64 %rd<8>;", f".reg .b32 %w<{count + 8}>;", f".reg .b64 %q<{count + 8}>;",
        ".reg .b32 %v<64>;", ".reg .b64 %x<64>;", ".reg .b32 %r<8>;", ".reg .f64 %y<64>;",
        "ld.param.u64 %rd1, [in];", "ld.param.u64 %rd2, [out];",
        "mov.u32 %r1, %ctaid.x;", "mov.u32 %r2, %laneid;",
    ]  # fmt: skip
    bytes_in = (a + b + d + meta) * 128
    bytes_out = d * 128 * max(form.selectors, 1)
    lane = 4 * step
    lines += [
        f"mad.wide.u32 %rd3, %r1, {bytes_in}, %rd1;", f"mad.wide.u32 %rd3, %r2, {lane}, %rd3;",
        f"mad.wide.u32 %rd4, %r1, {bytes_out}, %rd2;", f"mad.wide.u32 %rd4, %r2, {lane}, %rd4;",
    ]  # fmt: skip
    lines += [f"ld.global.{size} %{prefix}{i}, [%rd3+{32 * lane * i}];" for i in range(count)]
    if meta:
        lines.append(f"ld.global.b32 %r4, [%rd3+{32 * lane * count}];")
    a, b, d = a // step, b // step, d // step
    operands = ", ".join((_vector(prefix, 0, a), _vector(prefix, a, b), _vector(prefix, a + b, d)))
    into = "y" if is_double else "v"  # f64 destinations have their own class
    for selector in range(max(form.selectors, 1)):
        tail = f", %r4, {selector}" if form.selectors else ""
        lines.append(f"{form.spelling} {_vector(into, 0, d)}, {operands}{tail};")
        for i in range(d):
            at = 32 * lane * (selector * d + i)
            kind = "f64" if is_double else "b32"
            lines.append(f"st.global.{kind} [%rd4+{at}], %{into}{i};")
    return "\n".join([*lines, "ret;", "}", ""])


def _launch(form: _Form, target: str) -> Launch:
    kinds = KINDS if form.d != "s32" else ("like", "small")
    data = np.concatenate([_inputs(form, kind) for kind in kinds])
    size = 8 if form.d == "f64" else 4
    results = form.sizes[0] * 4 // size * 32 * max(form.selectors, 1)  # of one product
    products = _PRODUCTS * len(kinds)
    out = np.zeros(products * results * size, np.uint8)
    parts = []
    for number, kind in enumerate(kinds):
        start = number * _PRODUCTS * results * size

        def describe(case: int, kind: str = kind) -> str:
            product, rest = divmod(case, results)
            return f"{kind} product {product}, register {rest // 32}, lane {rest % 32}"

        key = f"{form.spelling} {kind}"
        parts.append(Part(key, 1, start, size, _PRODUCTS * results, describe))
    return Launch(
        form.spelling, target, [data, out], parts, _text(form, target), grid=(products, 1, 1)
    )


class MmaSet:
    """Matrix products of a warp."""

    name = "mma"
    about = "mma and mma.sp, every type and shape, six kinds of numbers"
    targets: tuple[str, ...] = ("sm_80", "sm_90a")

    def launches(self, target: str) -> Iterator[Launch]:
        """One launch for each instruction."""
        for form in (*_floats(target), *_integers(), *_sparses(target)):
            yield _launch(form, target)
