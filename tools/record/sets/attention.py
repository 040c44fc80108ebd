# SPDX-License-Identifier: Apache-2.0
"""Flash attention: products of tensor cores, a softmax that is corrected block by block.

One warp has 16 queries of 64 elements, and takes the keys 16 at a time: scores by mma, their
maximum across the lanes of a row, powers of two, their sum, then the product with the values. What
it leaves behind depends on every bit of mma, ex2 and rcp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from record.cases import VERSION
from record.elements import elements
from record.launch import Bytes, Launch, Part
from record.stream import Stream

_WIDTH = 64  # elements of a query, a key and a value
_ROWS = 16  # queries of a warp, and keys of a block
_KEPT = 256
_SCALE = 0x3E38AA3B  # log2(e) / sqrt(64), as f32
_MINUS_INFINITY = "0fFF800000"


@dataclass(frozen=True)
class _Shape:
    queries: int
    keys: int
    is_causal: bool

    def __str__(self) -> str:
        return f"flash attention {self.queries}x{self.keys}{' causal' if self.is_causal else ''}"


_SHAPES = (
    _Shape(16, 16, False),
    _Shape(32, 64, False),
    _Shape(48, 256, False),
    _Shape(64, 64, True),
    _Shape(128, 128, True),
)


def _mma(sums: list[str], left: list[str], right: list[str]) -> str:
    held = ", ".join(sums)
    return (
        f"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{{held}}}, "
        f"{{{', '.join(left)}}}, {{{', '.join(right)}}}, {{{held}}};"
    )


def _scores(shape: _Shape) -> Iterator[str]:
    """Sixteen queries by sixteen keys: s0..s7; lane 4 g + t has rows g and g + 8."""
    yield from (f"mov.f32 s{i}, 0f00000000;" for i in range(8))
    for tile in range(2):  # of eight keys
        for step in range(4):  # of sixteen elements
            place = tile * 8 * _WIDTH * 2 + step * 32
            yield f"ld.global.b32 b0, [key+{place}]; ld.global.b32 b1, [key+{place + 16}];"
            sums = [f"s{4 * tile + i}" for i in range(4)]
            yield _mma(sums, [f"q{4 * step + i}" for i in range(4)], ["b0", "b1"])
    if shape.is_causal:
        for i in range(8):
            column = 8 * (i // 4) + i % 2
            yield f"add.u32 t0, column, {column}; sub.u32 t1, row, t0;"
            yield f"add.u32 t1, t1, {8 * (i % 4 // 2)}; setp.lt.s32 p, t1, 0;"
            yield f"@p mov.f32 s{i}, {_MINUS_INFINITY};"


def _softmax(half: int) -> Iterator[str]:
    """Take new maximum, correction, powers and sum of the rows g (0) or g + 8 (1)."""
    own = [2 * half, 2 * half + 1, 4 + 2 * half, 4 + 2 * half + 1]
    yield f"mov.f32 top, max{half};"
    yield from (f"max.f32 top, top, s{i};" for i in own)
    for distance in (1, 2):
        yield f"shfl.sync.bfly.b32 x, top, {distance}, 31, -1; max.f32 top, top, x;"
    yield f"mul.rn.f32 shift, top, 0f{_SCALE:08X}; neg.f32 shift, shift;"
    yield f"fma.rn.f32 correction, max{half}, 0f{_SCALE:08X}, shift;"
    yield f"ex2.approx.ftz.f32 correction, correction; mov.f32 max{half}, top;"
    yield f"mul.rn.f32 sum{half}, sum{half}, correction;"
    for i in own:
        yield f"fma.rn.f32 s{i}, s{i}, 0f{_SCALE:08X}, shift; ex2.approx.ftz.f32 s{i}, s{i};"
        yield f"add.rn.f32 sum{half}, sum{half}, s{i};"
    for tile in range(_WIDTH // 8):
        for i in range(2):
            name = f"o{4 * tile + 2 * half + i}"
            yield f"mul.rn.f32 {name}, {name}, correction;"


def _values() -> Iterator[str]:
    """Add the product of the powers, as bf16, and the values."""
    for register, (high, low) in enumerate(
        (("s1", "s0"), ("s3", "s2"), ("s5", "s4"), ("s7", "s6"))
    ):
        yield f"cvt.rn.bf16x2.f32 a{register}, {high}, {low};"
    for tile in range(_WIDTH // 8):
        for register in range(2):
            place = register * 8 * _WIDTH * 2 + tile * 16
            yield f"ld.global.b16 h0, [value+{place}];"
            yield f"ld.global.b16 h1, [value+{place + 2 * _WIDTH}];"
            yield f"mov.b32 b{register}, {{h0, h1}};"
        sums = [f"o{4 * tile + i}" for i in range(4)]
        yield _mma(sums, ["a0", "a1", "a2", "a3"], ["b0", "b1"])


def _text(shape: _Shape, target: str) -> str:
    lines = [
        f".version {VERSION}", f".target {target}", ".address_size 64",
        ".visible .entry k(.param .u64 pq, .param .u64 pk, .param .u64 pv, .param .u64 po) {",
        ".reg .b32 a<4>, b<2>, q<16>, t0, t1, lane, g, t, row, column, block; .reg .b16 h<2>;",
        ".reg .f32 s<8>, o<32>, max<2>, sum<2>, top, x, shift, correction; .reg .pred p;",
        ".reg .u64 query, key, value, out;",
        "ld.param.u64 query, [pq]; ld.param.u64 key, [pk]; ld.param.u64 value, [pv];",
        "ld.param.u64 out, [po]; mov.u32 lane, %tid.x; shr.u32 g, lane, 2; and.b32 t, lane, 3;",
        f"mov.u32 row, %ctaid.x; mad.lo.u32 row, row, {_ROWS}, g;",
        f"mul.lo.u32 t0, row, {_WIDTH}; mad.lo.u32 t0, t, 2, t0;",
        "mad.wide.u32 query, t0, 2, query; mad.wide.u32 out, t0, 4, out;",
        f"mul.lo.u32 t0, g, {_WIDTH}; mad.lo.u32 t0, t, 2, t0; mad.wide.u32 key, t0, 2, key;",
        f"mul.lo.u32 t0, t, {2 * _WIDTH}; add.u32 t0, t0, g; mad.wide.u32 value, t0, 2, value;",
        "mul.lo.u32 column, t, 2;",
    ]  # fmt: skip
    for step in range(4):
        for i, (down, right) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
            place = 2 * (down * _WIDTH + 16 * step + right)
            lines.append(f"ld.global.b32 q{4 * step + i}, [query+{place}];")
    lines += [f"mov.f32 o{i}, 0f00000000;" for i in range(_WIDTH // 2)]
    for half in range(2):
        lines.append(f"mov.f32 max{half}, {_MINUS_INFINITY}; mov.f32 sum{half}, 0f00000000;")
    lines += ["mov.u32 block, 0;", "next:", *_scores(shape), *_softmax(0), *_softmax(1), *_values()]
    lines += [
        f"add.u64 key, key, {_ROWS * _WIDTH * 2}; add.u64 value, value, {_ROWS * _WIDTH * 2};",
        f"add.u32 column, column, {_ROWS}; add.u32 block, block, {_ROWS};",
        f"setp.lt.u32 p, block, {shape.keys}; @p bra next;",
    ]
    for half in range(2):
        for distance in (1, 2):
            lines.append(f"shfl.sync.bfly.b32 x, sum{half}, {distance}, 31, -1;")
            lines.append(f"add.rn.f32 sum{half}, sum{half}, x;")
        lines.append(f"rcp.approx.ftz.f32 sum{half}, sum{half};")
    for i in range(_WIDTH // 2):
        half = i % 4 // 2
        place = 4 * (8 * half * _WIDTH + 8 * (i // 4) + i % 2)
        lines.append(f"mul.rn.f32 o{i}, o{i}, sum{half}; st.global.f32 [out+{place}], o{i};")
    return "\n".join([*lines, "ret;", "}", ""])


def _bf16(stream: Stream, rows: int) -> Bytes:
    return elements("bf16", "like", rows * _WIDTH, stream)


def _values_of(bits: Bytes) -> Bytes:
    words = bits.view(np.uint16).astype(np.uint32) << 16
    return words.view(np.float32).astype(np.float64).reshape(-1, _WIDTH)


def expected(query: Bytes, key: Bytes, value: Bytes, is_causal: bool) -> Bytes:
    """Compute the same in float64."""
    scores = _values_of(query) @ _values_of(key).T / np.sqrt(_WIDTH)
    if is_causal:
        scores[np.triu_indices_from(scores, 1)] = -np.inf
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers @ _values_of(value) / powers.sum(axis=1, keepdims=True)


def shapes_and_launches(target: str) -> Iterator[tuple[_Shape, Launch]]:
    """Make a launch for each shape."""
    for shape in _SHAPES:
        stream = Stream(str(shape))
        inputs = [_bf16(stream, rows) for rows in (shape.queries, shape.keys, shape.keys)]
        size = shape.queries * _WIDTH
        out = np.full(size, 0x7FC0DEAD, np.uint32).view(np.uint8)
        part = Part(str(shape), 3, 0, 4, size, lambda case: f"element {divmod(case, _WIDTH)}",
                    keep=min(size, _KEPT))  # fmt: skip
        yield shape, Launch(
            str(shape), target, [*inputs, out], [part], _text(shape, target),
            grid=(shape.queries // _ROWS, 1, 1),
        )  # fmt: skip


class AttentionSet:
    """Flash attention."""

    name = "attention"
    about = "flash attention: mma, ex2 and rcp, whole and causal"
    targets: tuple[str, ...] = ("sm_80",)

    def launches(self, target: str) -> Iterator[Launch]:
        """One launch for each shape."""
        for _, launch in shapes_and_launches(target):
            yield launch
