# SPDX-License-Identifier: Apache-2.0
"""Matrix instructions of later targets: narrow floats with and without scales, sparse A, bytes.

The elements are few and small, so that every sum is exact and no order of adding matters. Where an
element lies is written here from the manual's formulas.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from record.formats import FORMATS, is_nan
from record.stream import Stream
from record.worked import Sum, Words, Worked, works

_LANE = np.arange(32)
_GROUP, _QUAD = _LANE >> 2, _LANE & 3


@dataclass(frozen=True)
class Product:
    """One mma: types of its elements, its shape, and what goes beyond A * B + C."""

    text: str
    a: str
    b: str
    k: int
    width: int = 8  # bits of an element's container
    d: str = "f32"
    scales: int = 0  # chunks of K that have a scale each
    stype: str = "ue8m0"
    selectors: tuple[int, int, int, int] = (0, 0, 0, 0)  # byte and thread of A, of B
    metadata: int | None = None  # of a sparse A: the same in all lanes
    reads: int = field(default=16, init=False)


def _codes(kind: str, is_small: bool) -> list[int]:
    """Return the codes that are drawn from: numbers whose sums are exact."""
    form = FORMATS[kind]
    most = 1 if is_small else 8
    found = []
    for bits in range(2 * form.sign):
        value = form.value(bits)
        if not is_nan(value) and -most <= value <= most and Fraction(value) * 16 % 1 == 0:
            found.append(bits)
    return found


def _container(kind: str, width: int, code: int) -> int:
    """Place a code in its container: four bits go to the middle of a byte."""
    return code << 2 if kind == "e2m1" and width == 8 else code


def _value(kind: str, width: int, bits: int) -> Fraction:
    form = FORMATS[kind]
    code = bits >> 2 if kind == "e2m1" and width == 8 else bits
    return Fraction(form.value(code & (2 * form.sign - 1)))


def _registers(one: Product) -> tuple[int, int, int]:
    """Words of a lane's A, B and C."""
    stored = one.k // 2 if one.metadata is not None else one.k
    c = 2 if one.d == "f16" else 4
    return 16 * stored * one.width // 1024, 8 * one.k * one.width // 1024, c


def _inputs(one: Product) -> Callable[[Stream, int], Words]:
    def make(stream: Stream, count: int) -> Words:
        words = np.zeros((count, one.reads), np.uint64)
        a, b, c = _registers(one)
        each = 32 // one.width
        for first, number, kind in ((0, a, one.a), (a, b, one.b)):
            codes = np.array(_codes(kind, one.d == "f16"), np.uint64)
            for register, place in itertools.product(range(number), range(each)):
                drawn = codes[stream.below(len(codes), count)]
                drawn = drawn << np.uint64(_container(kind, one.width, 1).bit_length() - 1)
                words[:, first + register] |= drawn << np.uint64(one.width * place)
        small = (stream.below(17, count * c * 2) - 8).reshape(count, c * 2)
        if one.d == "f16":
            halves = small.astype(np.float16).view(np.uint16).astype(np.uint64)
            words[:, a + b : a + b + c] = halves[:, :c] | halves[:, c:] << np.uint64(16)
        else:
            words[:, a + b : a + b + c] = small[:, :c].astype(np.float32).view(np.uint32)
        return _with_scales(one, words, stream, count)

    return make


def _with_scales(one: Product, words: Words, stream: Stream, count: int) -> Words:
    """Put four scales near one into each of the last two words."""
    base = 126 if one.stype == "ue8m0" else 0x30  # a half; ue4m3 has a bias of 7
    step = 1 if one.stype == "ue8m0" else 8
    for column, place in itertools.product((-2, -1), range(4)):
        scale = (stream.below(3, count) * step + base).astype(np.uint64)
        words[:, column] |= scale << np.uint64(8 * place)
    return words


def _scale(one: Product, bits: int) -> Fraction:
    if one.stype == "ue8m0":
        return Fraction(2) ** (bits - 127)
    return Fraction(FORMATS["e4m3"].value(bits))


def _matrix_a(one: Product, words: Words) -> Any:
    """Collect A, dense, with its scales."""
    a, _, _ = _registers(one)
    each = 32 // one.width
    matrix = np.full((16, one.k), Fraction(0), object)
    for register, place in itertools.product(range(a), range(each)):
        for lane in range(32):
            row = lane // 4 + 8 * (register & 1)
            column = each * (lane % 4) + place + 4 * each * (register >> 1)
            bits = int(words[lane, register]) >> (one.width * place) & ((1 << one.width) - 1)
            value = _value(one.a, one.width, bits)
            matrix[row, _dense_column(one, column)] = value * _scale_a(one, words, row, column)
    return matrix


def _dense_column(one: Product, column: int) -> int:
    """Return where a stored column of a sparse A belongs: two of four, or two pairs of four."""
    if one.metadata is None:
        return column
    size = 2 if one.width == 4 else 1  # elements that one index moves
    unit, rest = divmod(column, size)
    group, which = divmod(unit, 2)
    index = one.metadata >> (2 * which) & 3
    return (4 * group + index) * size + rest


def _chunk(one: Product, column: int) -> int:
    return column * one.scales // one.k


def _scale_a(one: Product, words: Words, row: int, stored: int) -> Fraction:
    if not one.scales:
        return Fraction(1)
    byte, thread, _, _ = one.selectors
    lane = 4 * (row % 8) + 2 * thread + row // 8
    place = byte + _chunk(one, _dense_column(one, stored))
    return _scale(one, int(words[lane, -2]) >> (8 * place) & 0xFF)


def _matrix_b(one: Product, words: Words) -> Any:
    a, b, _ = _registers(one)
    each = 32 // one.width
    matrix = np.full((one.k, 8), Fraction(0), object)
    for register, place, lane in itertools.product(range(b), range(each), range(32)):
        row = each * (lane % 4) + place + 4 * each * register
        column = lane // 4
        bits = int(words[lane, a + register]) >> (one.width * place) & ((1 << one.width) - 1)
        scale = Fraction(1)
        if one.scales:
            _, _, byte, thread = one.selectors
            word = int(words[4 * column + thread, -1])
            scale = _scale(one, word >> (8 * (byte + _chunk(one, row))) & 0xFF)
        matrix[row, column] = _value(one.b, one.width, bits) * scale
    return matrix


def _after(one: Product) -> Callable[[Words], Words]:
    def warp(words: Words) -> Words:
        product = _matrix_a(one, words).dot(_matrix_b(one, words))
        a, b, c = _registers(one)
        rows = []
        for lane in range(32):
            values = []
            for i in range(4):
                at = product[lane // 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1)]
                values.append(at + _addend(one, words[lane, a + b : a + b + c], i))
            bits = [FORMATS[one.d].bits(value) for value in values]
            rows.append([bits[0] | bits[1] << 16, bits[2] | bits[3] << 16] if c == 2 else bits)
        return np.array(rows, np.uint64)

    return lambda words: np.concatenate(
        [warp(words[at : at + 32]) for at in range(0, len(words), 32)]
    )


def _addend(one: Product, words: Words, i: int) -> Fraction:
    if one.d == "f16":
        return Fraction(FORMATS["f16"].value(int(words[i >> 1]) >> (16 * (i & 1)) & 0xFFFF))
    return Fraction(FORMATS["f32"].value(int(words[i])))


def _sum(one: Product) -> Sum:
    a, b, c = _registers(one)
    lines = [f"ld.global.b32 r{4 + i}, [src+{4 * i}];" for i in range(one.reads)]
    place = 4

    def vector(count: int, prefix: str = "r") -> str:
        nonlocal place
        names = [f"{prefix}{place + i}" for i in range(count)]
        place += count
        return "{" + ", ".join(names) + "}"

    operands = [vector(a), vector(b)]
    first = place
    vector(c)
    if one.d == "f32":
        lines += [f"mov.b32 f{i}, r{first + i};" for i in range(4)]
        d, addend = "{f4, f5, f6, f7}", "{f0, f1, f2, f3}"
        stores = "st.global.v4.f32 [dst], {f4, f5, f6, f7};"
    else:
        d, addend = "{r0, r1}", f"{{r{first}, r{first + 1}}}"
        stores = "st.global.v2.b32 [dst], {r0, r1};"
    tail = ""
    if one.metadata is not None:
        lines.append(f"mov.b32 r30, {one.metadata * 0x11111111:#x};")
        tail += ", r30, 0"
    if one.scales:
        byte_a, thread_a, byte_b, thread_b = one.selectors
        tail += f", r18, {{{byte_a}, {thread_a}}}, r19, {{{byte_b}, {thread_b}}}"
    lines.append(f"{one.text} {d}, {', '.join(operands)}, {addend}{tail}; {stores}")
    name = f"{one.text} {one.selectors} {one.metadata}"
    return Sum(
        name, "\n".join(lines), _after(one), one.reads, 32, 2, version="9.4", inputs=_inputs(one)
    )


_KINDS = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_TWO = (0x4, 0xE)  # metadata: the first two of four, the last two


def _products() -> Iterator[Product]:
    head = "mma.sync.aligned.m16n8k32.row.col"
    sparse = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col"
    for a, b in itertools.product(_KINDS, _KINDS):
        d = "f16" if (a, b) in (("e2m3", "e2m1"), ("e4m3", "e3m2")) else "f32"
        yield Product(f"{head}.kind::f8f6f4.{d}.{a}.{b}.{d}", a, b, 32, d=d)
    for number, (a, b) in enumerate((("e4m3", "e5m2"), ("e3m2", "e2m1"), ("e2m3", "e3m2"))):
        text = f"{head}.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{a}.{b}.f32.ue8m0"
        yield Product(text, a, b, 32, scales=1, selectors=(number, number & 1, 3 - number, number))
        for metadata in _TWO:
            text = f"{sparse}.kind::f8f6f4.f32.{a}.{b}.f32"
            yield Product(text, a, b, 64, metadata=metadata)
            text = f"{sparse}.kind::mxf8f6f4.block_scale.f32.{a}.{b}.f32.ue8m0"
            chosen = (3, number & 1, number, 2)
            yield Product(text, a, b, 64, scales=1, selectors=chosen, metadata=metadata)
    yield from _fours()


def _fours() -> Iterator[Product]:
    head = "mma.sync.aligned.m16n8k64.row.col"
    sparse = "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col"
    for kind, vec, stype, scales in (
        ("mxf4", "", "ue8m0", 2), ("mxf4", ".scale_vec::2X", "ue8m0", 2),
        ("mxf4nvf4", ".scale_vec::2X", "ue8m0", 2), ("mxf4nvf4", ".scale_vec::4X", "ue8m0", 4),
        ("mxf4nvf4", ".scale_vec::4X", "ue4m3", 4),
    ):  # fmt: skip
        tail = f"kind::{kind}.block_scale{vec}.f32.e2m1.e2m1.f32.{stype}"
        choices = ((0, 0, 0, 0), (2, 1, 2, 3)) if scales == 2 else ((0, 1, 0, 2),)
        for selectors in choices:
            yield Product(
                f"{head}.{tail}", "e2m1", "e2m1", 64, 4, "f32", scales, stype, selectors
            )  # fmt: skip
            for metadata in _TWO:
                yield Product(
                    f"{sparse}.{tail}", "e2m1", "e2m1", 128, 4, "f32", scales, stype, selectors,
                    metadata,
                )  # fmt: skip


def _bytes_after(words: Words) -> Words:
    """m8n8k16 of s8 and u8, saturating nothing: |sum| < 2^20."""
    rows = []
    for at in range(0, len(words), 32):
        part = np.ascontiguousarray(words[at : at + 32])
        a = part[:, :1].copy().view(np.int8).astype(np.int64).reshape(8, 16)
        b = part[:, 1:2].copy().view(np.uint8).astype(np.int64).reshape(8, 16).T
        c = part[:, 2:].copy().view(np.int32).astype(np.int64).reshape(8, 8)
        rows.append((a @ b + c).reshape(32, 2) & 0xFFFFFFFF)
    return np.concatenate(rows)


def _integers() -> Iterator[Sum]:
    text = "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {r1, r2}, {r4}, {f5}, {r6, r7}"
    lines = (
        "ld.global.v4.b32 {r4, r5, r6, r7}, [src]; mov.b32 f5, r5;"
        f"{text}; st.global.v2.b32 [dst], {{r1, r2}};"
    )
    yield Sum(text, lines, _bytes_after, 4, 32, 2)


def _small(stream: Stream, threads: int, count: int) -> Words:
    return stream.below(7, threads * count).reshape(threads, count) - 3


def _quarters() -> Iterator[Sum]:
    """m8n8k4: lanes 4 q to 4 q + 3 and the same of the upper half have a product of their own."""

    def inputs(stream: Stream, threads: int) -> Words:
        halves = _small(stream, threads, 16).astype(np.float16)
        return np.ascontiguousarray(halves).view(np.uint32)

    def after(words: Words) -> Words:
        halves = np.ascontiguousarray(words).view(np.float16).astype(np.int64)
        found = np.zeros((32, 8), np.float16)
        for quarter in range(4):
            lanes = [4 * quarter + i for i in range(4)] + [16 + 4 * quarter + i for i in range(4)]
            a, b = halves[lanes, :4], halves[lanes, 4:8].T
            found[lanes] = a @ b + halves[lanes, 8:]
        return found.view(np.uint32)

    text = (
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {r1, r2, r3, r20}, {r4, r5}, {r6, r7},"
        " {r8, r9, r10, r11}"
    )
    lines = (
        "ld.global.v4.b32 {r4, r5, r6, r7}, [src]; ld.global.v4.b32 {r8, r9, r10, r11}, [src+16];"
        f"{text}; st.global.v4.b32 [dst], {{r1, r2, r3, r20}};"
    )
    yield Sum(text, lines, after, 8, inputs=inputs)


def _doubles() -> Iterator[Sum]:
    """Wmma of f64, from memory to memory: A by rows, B by columns."""

    def inputs(stream: Stream, threads: int) -> Words:
        return np.ascontiguousarray(_small(stream, threads, 4).astype(np.float64)).view(np.uint32)

    def after(words: Words) -> Words:
        numbers = np.ascontiguousarray(words).view(np.float64).reshape(-1)
        a, b = numbers[:32].reshape(8, 4), numbers[32:64].reshape(8, 4).T
        return (a @ b + numbers[64:].reshape(8, 8)).reshape(32, 2).view(np.uint32)

    head = "wmma.load.{}.sync.aligned.{}.m8n8k4.global.f64"
    lines = (
        "mul.wide.u32 d0, idx, 32; sub.u64 d1, src, d0; mul.wide.u32 d0, idx, 16;"
        f"sub.u64 d2, dst, d0; {head.format('a', 'row')} {{e0}}, [d1];"
        f"{head.format('b', 'col')} {{e1}}, [d1+256]; "
        f"{head.format('c', 'row')} {{e2, e3}}, [d1+512];"
        "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {e4, e5}, {e0}, {e1}, {e2, e3};"
        "wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [d2], {e4, e5};"
    )
    yield Sum("wmma of f64", lines, after, 8, inputs=inputs, extra=".reg .f64 e<6>;")


_ROWS = "mov.u32 r1, tile; mad.lo.u32 r2, tid, 16, r1;"
_FILL = "ld.global.v4.b32 {r4, r5, r6, r7}, [src]; st.shared.v4.b32 [r2], {r4, r5, r6, r7};"


def _elements(words: Words, bits: int) -> Words:
    """Return the 16 elements of every row of 16 bytes, in bytes; four bits go to the middle."""
    rows = [int.from_bytes(row.tobytes(), "little") for row in np.ascontiguousarray(words)]
    shift = 2 if bits == 4 else 0
    mask = (1 << bits) - 1
    return np.array([[(row >> (bits * i) & mask) << shift for i in range(16)] for row in rows])


def _packed(values: Words) -> Words:
    """Pack four bytes a register."""
    return (values.astype(np.uint64) << (np.arange(4, dtype=np.uint64) * np.uint64(8))).sum(axis=-1)


def _loads() -> Iterator[Sum]:
    columns = 4 * _QUAD[:, None] + np.arange(4)  # that a lane's four elements have
    sources = (("b8", 8), ("b8x16.b6x16_p32", 6), ("b8x16.b4x16_p64", 4))
    for (source, bits), count in itertools.product(sources, (1, 2)):

        def square(words: Words, bits: int = bits, count: int = count) -> Words:
            memory = _elements(words, bits)
            rows = [memory[16 * m + columns, _GROUP[:, None] + 8 * half]
                    for m in range(count) for half in (0, 1)]  # fmt: skip
            return np.stack([_packed(row) for row in rows], axis=1)

        names = ", ".join(f"r{8 + i}" for i in range(2 * count))
        text = f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{source}"
        store = f"st.global.v{2 * count}.b32 [dst], {{{names}}};"
        lines = f"{_ROWS} {_FILL} bar.sync 0; {text} {{{names}}}, [r2]; {store}"
        yield Sum(text, lines, square, 4)
    for (source, bits), count in itertools.product(sources[1:], (1, 2, 4)):

        def flat(words: Words, bits: int = bits, count: int = count) -> Words:
            memory = _elements(words, bits)
            rows = [memory[8 * m + _GROUP[:, None], columns] for m in range(count)]
            return np.stack([_packed(row) for row in rows], axis=1)

        names = ", ".join(f"r{8 + i}" for i in range(count))
        text = f"ldmatrix.sync.aligned.m8n16.x{count}.shared.{source}"
        vector = f".v{count}" if count > 1 else ""
        value = f"{{{names}}}" if count > 1 else names
        lines = f"{_ROWS} {_FILL} bar.sync 0; {text} {{{names}}}, [r2];"
        yield Sum(text, f"{lines} st.global{vector}.b32 [dst], {value};", flat, 4)


def _stores() -> Iterator[Sum]:
    """Stmatrix of 16 x 8 bytes: memory has a row for each column."""
    for count in (1, 2, 4):

        def after(words: Words, count: int = count) -> Words:
            memory = np.zeros((32, 16), np.uint8)
            for m, lane, e in itertools.product(range(count), range(32), range(4)):
                column, row = 2 * (lane % 4) + (e & 1), lane // 4 + 8 * (e >> 1)
                memory[8 * m + column, row] = int(words[lane, m]) >> (8 * e) & 0xFF
            return memory.view(np.uint32)

        names = ", ".join(f"r{4 + i}" for i in range(count))
        text = f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8"
        lines = (
            f"{_ROWS} ld.global.v4.b32 {{r4, r5, r6, r7}}, [src]; mov.b32 r8, 0;"
            f"st.shared.v4.b32 [r2], {{r8, r8, r8, r8}}; bar.sync 0; {text} [r2], {{{names}}};"
            "bar.sync 0; ld.shared.v4.b32 {r8, r9, r10, r11}, [r2];"
            "st.global.v4.b32 [dst], {r8, r9, r10, r11};"
        )
        yield Sum(text, lines, after, 4)


class MatricesSet:
    """Matrix instructions of Blackwell."""

    name = "matrices"
    about = "mma of narrow floats with scales and sparsity, ldmatrix and stmatrix of bytes"
    targets: tuple[str, ...] = ("sm_80", "sm_100a", "sm_120a")

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        if target == "sm_120a":
            yield from works(map(_sum, _products()), target)
        elif target == "sm_80":
            yield from works(itertools.chain(_quarters(), _doubles()), target)
        else:
            yield from works(itertools.chain(_integers(), _loads(), _stores()), target)
