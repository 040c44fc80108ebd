# SPDX-License-Identifier: Apache-2.0
"""ldmatrix, stmatrix and movmatrix, and wmma from memory to memory.

The fragments of wmma are nobody's business: what counts is D in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from record.elements import KINDS, elements
from record.launch import Bytes, Launch, Part
from record.stream import Stream

_WARPS = 32
_BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
    "s32": 32, "f64": 64,
}  # fmt: skip


def _head(target: str, more: str = "") -> list[str]:
    return [
        ".version 8.0", f".target {target}", ".address_size 64",
        ".visible .entry k(.param .u64 in, .param .u64 out)", "{",
        ".reg .b64 %rd<8>;", ".reg .b32 %r<48>;", ".reg .f64 %y<48>;", more,
        "ld.param.u64 %rd1, [in];", "ld.param.u64 %rd2, [out];",
        "mov.u32 %r1, %ctaid.x;", "mov.u32 %r2, %laneid;",
    ]  # fmt: skip


def _vector(count: int, first: int = 8, prefix: str = "r") -> str:
    return "{" + ", ".join(f"%{prefix}{first + i}" for i in range(count)) + "}"


def _move(line: str, target: str) -> Launch:
    """Make a launch: 512 bytes of shared memory and four words of each lane, in and out.

    Each lane gives a row of its own, in no order that is anybody's.
    """
    lines = [
        *_head(target, ".shared .align 16 .b8 tile[512];"),
        "mad.wide.u32 %rd3, %r1, 1024, %rd1;", "mad.wide.u32 %rd4, %r1, 1024, %rd2;",
        "mad.wide.u32 %rd3, %r2, 32, %rd3;", "mad.wide.u32 %rd4, %r2, 32, %rd4;",
        "mov.u32 %r3, tile;", "mad.lo.u32 %r4, %r2, 16, %r3;",
        "ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd3];",
        "ld.global.v4.b32 {%r8, %r9, %r10, %r11}, [%rd3+16];",
        "st.shared.v4.b32 [%r4], {%r20, %r21, %r22, %r23};",
        "mul.lo.u32 %r5, %r2, 13;", "add.u32 %r5, %r5, 7;", "and.b32 %r5, %r5, 31;",
        "mad.lo.u32 %r5, %r5, 16, %r3;", "bar.sync 0;", f"{line};", "bar.sync 0;",
        "ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r4];",
        "st.global.v4.b32 [%rd4], {%r20, %r21, %r22, %r23};",
        "st.global.v4.b32 [%rd4+16], {%r8, %r9, %r10, %r11};", "ret;", "}", "",
    ]  # fmt: skip
    data = Stream(line).bits(8, _WARPS * 1024)
    part = Part(line, 1, 0, 32, _WARPS * 32, lambda case: f"warp {case // 32}, lane {case % 32}")
    out = np.zeros(_WARPS * 1024, np.uint8)
    return Launch(line, target, [data, out], [part], "\n".join(lines), grid=(_WARPS, 1, 1))


def _moves(target: str) -> Iterator[Launch]:
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            head = f"matrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
            yield _move(f"ld{head} {_vector(count)}, [%r5]", target)
            if target == "sm_90a":
                yield _move(f"st{head} [%r5], {_vector(count)}", target)
    yield _move("movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r9", target)


@dataclass(frozen=True)
class _Product:
    """One wmma: shape, types, and how the matrices lie in memory."""

    m: int
    n: int
    k: int
    d: str
    c: str
    a: str
    layouts: tuple[str, str] = ("row", "col")
    registers: tuple[int, int, int, int] = (8, 8, 8, 8)  # of A, B, C and D
    extra: str = ""
    head: str = ""

    @property
    def shape(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Bytes of A, B, C and D."""
        return (
            self.m * self.k * _BITS[self.a] // 8,
            self.n * self.k * _BITS[self.a] // 8,
            self.m * self.n * _BITS[self.c] // 8,
            self.m * self.n * _BITS[self.d] // 8,
        )

    @property
    def spelling(self) -> str:
        plain = self.a == "f16"
        types = f"{self.d}.{self.c}" if plain else f"{self.d}.{self.a}.{self.a}.{self.c}"
        layouts = ".".join(self.layouts)
        return f"wmma.mma{self.head}.sync.aligned.{layouts}.{self.shape}.{types}{self.extra}"


def _products() -> Iterator[_Product]:
    for m, n in ((16, 16), (8, 32), (32, 8)):
        for d in ("f32", "f16"):
            for c in ("f32", "f16"):
                count = (8, 8, 8 if c == "f32" else 4, 8 if d == "f32" else 4)
                yield _Product(m, n, 16, d, c, "f16", registers=count)
        yield _Product(m, n, 16, "f32", "f32", "f16", ("col", "row"))
        yield _Product(m, n, 16, "f32", "f32", "bf16", registers=(m // 4, n // 4, 8, 8))
        for a in ("s8", "u8"):
            for extra in ("", ".satfinite"):
                count = (m // 8, n // 8, 8, 8)
                yield _Product(m, n, 16, "s32", "s32", a, registers=count, extra=extra)
    yield _Product(16, 16, 8, "f32", "f32", "tf32", registers=(4, 4, 8, 8))
    for a in ("s4", "u4"):
        yield _Product(8, 8, 32, "s32", "s32", a, registers=(1, 1, 2, 2))
    for rounding in ("", ".rn", ".rz", ".rm", ".rp"):
        yield _Product(8, 8, 4, "f64", "f64", "f64", registers=(1, 1, 2, 2), extra=rounding)
    for head in (".xor.popc", ".and.popc"):
        yield _Product(8, 8, 128, "s32", "s32", "b1", registers=(1, 1, 2, 2), head=head)


def _wmma_text(one: _Product, target: str) -> str:
    """Write the kernel: a warp loads A, B and C, multiplies and stores D."""
    bytes_in = sum(one.sizes[:3])
    offsets = (0, one.sizes[0], one.sizes[0] + one.sizes[1])
    prefix = "y" if one.a == "f64" else "r"
    vectors = [_vector(count, 8 + 8 * i, prefix) for i, count in enumerate(one.registers)]
    layout_a, layout_b = one.layouts
    lines = [
        *_head(target),
        f"mad.wide.u32 %rd3, %r1, {bytes_in}, %rd1;",
        f"mad.wide.u32 %rd4, %r1, {one.sizes[3]}, %rd2;",
    ]
    for name, layout, kind, offset, vector in (
        ("a", layout_a, one.a, offsets[0], vectors[0]),
        ("b", layout_b, one.a, offsets[1], vectors[1]),
        ("c", "row", one.c, offsets[2], vectors[2]),
    ):
        head = f"wmma.load.{name}.sync.aligned.{layout}.{one.shape}.global.{kind}"
        lines.append(f"{head} {vector}, [%rd3+{offset}];")
    lines.append(f"{one.spelling} {vectors[3]}, {vectors[0]}, {vectors[1]}, {vectors[2]};")
    store = f"wmma.store.d.sync.aligned.row.{one.shape}.global.{one.d}"
    return "\n".join([*lines, f"{store} [%rd4], {vectors[3]};", "ret;", "}", ""])


def _wmma_inputs(one: _Product, kind: str) -> Bytes:
    stream = Stream(f"{one.spelling} {kind}")
    parts = []
    for name, size in zip((one.a, one.a, one.c), one.sizes[:3], strict=True):
        content = kind if name != "s32" else "like"
        count = _WARPS * size * 8 // _BITS[name]
        parts.append(elements(name, content, count, stream).reshape(_WARPS, -1))
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).reshape(-1)


def _wmma(one: _Product, target: str) -> Launch:
    kinds = ("like", "small") if one.d == "s32" else KINDS
    data = np.concatenate([_wmma_inputs(one, kind) for kind in kinds])
    size = _BITS[one.d] // 8
    each = one.m * one.n
    out = np.zeros(len(kinds) * _WARPS * each * size, np.uint8)
    parts = []
    for number, kind in enumerate(kinds):

        def describe(case: int, kind: str = kind) -> str:
            return (
                f"{kind} product {case // each}, row {case % each // one.n}, column {case % one.n}"
            )

        start = number * _WARPS * each * size
        parts.append(Part(f"{one.spelling} {kind}", 1, start, size, _WARPS * each, describe))
    grid = (len(kinds) * _WARPS, 1, 1)
    return Launch(one.spelling, target, [data, out], parts, _wmma_text(one, target), grid=grid)


class MatrixSet:
    """Moves of matrices, and wmma."""

    name = "matrix"
    about = "ldmatrix, stmatrix, movmatrix; wmma from memory to memory"
    targets: tuple[str, ...] = ("sm_80", "sm_90a")

    def launches(self, target: str) -> Iterator[Launch]:
        """One launch for each instruction."""
        yield from _moves(target)
        for one in _products():
            yield _wmma(one, target)
