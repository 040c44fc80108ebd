# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of later targets: mixed precision, packed f32 and bytes, three operands, no carries.

Floats are computed with fractions and rounded once, as the manual says.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from record.formats import FORMATS, Number, is_nan, minus, plus, scale_of, times
from record.stream import Stream
from record.worked import Sum, Words, Worked, works

_THREADS = 64
_LANES = {"e2m1p4": (8, 4), "e2m1": (4, 4), "e2m3": (8, 6), "e3m2": (8, 6), "f32": (32, 32)}


@dataclass(frozen=True)
class Operation:
    """An instruction on `count` elements: types of d and of its sources, what it does, how."""

    text: str
    does: str  # add, sub, mul or fma
    d: str
    sources: tuple[str, ...]
    count: int
    mode: str = "rn"
    sat: bool = False  # to [0, 1]
    satfinite: bool = False
    ftz: bool = False


def _slot(kind: str) -> tuple[int, int]:
    """Bits from one element to the next, and bits of an element."""
    return _LANES.get(kind, (16, 16) if kind in ("f16", "bf16") else (8, 8))


def _value(kind: str, bits: int) -> Number:
    if kind == "ue8m0":
        return scale_of(bits)
    return FORMATS["e2m1" if kind == "e2m1p4" else kind].value(bits)


def _element(one: Operation, values: list[Number]) -> int:
    """Compute one element."""
    form = FORMATS[one.d]
    if one.ftz:
        values = [_flushed(value, FORMATS["f32"].bias) for value in values]
    if one.does == "mul" and one.sources[0] in ("f16", "bf16"):  # c is converted first
        values[1] = form.value(form.bits(values[1]))
    if one.does in ("add", "sub"):
        second = minus(values[1]) if one.does == "sub" else values[1]
        result = plus(values[0], second, one.mode)
    else:
        result = times(values[0], values[1])
        if one.does == "fma":
            result = plus(result, values[2], one.mode)
    if one.sat:
        if is_nan(result) or result <= 0:
            return 0
        result = min(result, Fraction(1))
    bits = form.bits(result, one.mode, one.satfinite)
    subnormal = one.d == "f16" and bits & form.infinity == 0
    return bits & form.sign if one.ftz and subnormal else bits


def _flushed(value: Number, bias: int) -> Number:
    least = Fraction(1, 1 << (bias - 1))
    if is_nan(value) or not value or value >= least or value <= -least:
        return value
    return -0.0 if value < 0 else Fraction(0)


def _after(one: Operation) -> Callable[[Words], Words]:
    def row(words: Words) -> int:
        result = 0
        for place in range(one.count):
            values = []
            for number, kind in enumerate(one.sources):
                word = int(words[2 * number]) | int(words[2 * number + 1]) << 32
                step, width = _slot(kind)
                values.append(_value(kind, word >> (step * place) & ((1 << width) - 1)))
            result |= _element(one, values) << (_slot(one.d)[0] * place)
        return result

    def after(words: Words) -> Words:
        found = [row(words[thread]) for thread in range(len(words))]
        return np.array([[bits & 0xFFFFFFFF, bits >> 32] for bits in found], np.uint64)

    return after


def _near(stream: Stream, kind: str, count: int) -> Words:
    """Make elements: any bits of a narrow format, numbers near one of a wide, some edges."""
    width = _slot(kind)[1]
    if kind not in ("f32", "f16", "bf16"):
        return stream.bits(32, count) >> (32 - width)
    form = FORMATS[kind]
    exponents = (stream.below(9, count) + form.bias - 4).astype(np.uint32)
    fractions = stream.bits(32, count) >> (32 - form.fraction)
    keep = np.uint32(0xFFFFFFFF) << stream.below(form.fraction + 1, count).astype(np.uint32)
    signs = (stream.bits(32, count) >> 31).astype(np.uint32) << (width - 1)
    found = signs | exponents << form.fraction | fractions & keep
    top = form.infinity
    edges = [0, form.sign, top, top | form.sign, top | 1, 1, form.sign | 1, top - 1]
    found[: 4 * len(edges) : 4] = edges
    return found


def _inputs(one: Operation) -> Callable[[Stream, int], Words]:
    def make(stream: Stream, count: int) -> Words:
        columns = []
        for number in range(3):
            kind = one.sources[number] if number < len(one.sources) else "f32"
            word = np.zeros(count, np.uint64)
            for place in range(one.count):
                step, _ = _slot(kind)
                lane = np.roll(_near(stream, kind, count), 5 * number + 11 * place)
                word |= lane.astype(np.uint64) << np.uint64(step * place)
            columns += [word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)]
        return np.stack(columns, axis=1).astype(np.uint32)

    return make


def _register(kind: str, count: int, number: int) -> str:
    """Name the register of an operand: 16, 32 or 64 bits, or f32."""
    bits = _slot(kind)[0] * count
    if kind == "f32" and count == 1:
        return f"f{number}"
    return {16: f"h{number}", 32: f"r{number}", 64: f"d{number}"}[bits]


def _sum(one: Operation) -> Sum:
    lines = []
    for number in range(3):
        at = number + 1
        lines.append(
            f"ld.global.b64 d{at}, [src+{8 * number}]; cvt.u32.u64 r{at}, d{at};"
            f"cvt.u16.u64 h{at}, d{at}; mov.b32 f{at}, r{at};"
        )
    d = _register(one.d, one.count, 0)
    names = [_register(kind, one.count, 1 + number) for number, kind in enumerate(one.sources)]
    store = {"f": "mov.b32 r0, f0; cvt.u64.u32 d0, r0;", "r": "cvt.u64.u32 d0, r0;", "d": ""}[d[0]]
    lines.append(f"{one.text} {', '.join([d, *names])}; {store} st.global.b64 [dst], d0;")
    return Sum(
        one.text, "\n".join(lines), _after(one), 6, _THREADS, version="9.4", inputs=_inputs(one)
    )


_ALTERNATE = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e2m1p4", "ue8m0")


def _bytes() -> Iterator[Operation]:
    """8-bit results of every source."""
    for d, a in itertools.product(("e5m2", "e4m3"), _ALTERNATE):
        sat = a in ("e3m2", "ue8m0")
        word = ".satfinite" if sat else ""
        for does in ("add", "sub"):
            text = f"{does}.rn{word}.{d}x4.{a}x4"
            yield Operation(text, does, d, (a, d), 4, satfinite=sat)
        for b in ("e4m3", "e2m1", "ue8m0"):
            text = f"mul{word}.{d}x4.{a}x4.{b}x4"
            yield Operation(text, "mul", d, (a, b), 4, satfinite=sat)
            text = f"fma.rn{word}.{d}x4.{a}x4.{b}x4"
            yield Operation(text, "fma", d, (a, b, d), 4, satfinite=sat)


def _single() -> Iterator[Operation]:
    """f32 results of 16-bit sources, and packed f32."""
    for mode, a, sat in itertools.product(("rn", "rz", "rm", "rp"), ("f16", "bf16"), (False, True)):
        word = ".sat" if sat else ""
        for does in ("add", "sub"):
            yield Operation(f"{does}.{mode}{word}.f32.{a}", does, "f32", (a, "f32"), 1, mode, sat)
        text = f"fma.{mode}{word}.f32.{a}"
        yield Operation(text, "fma", "f32", (a, a, "f32"), 1, mode, sat)
    for mode in ("rn", "rz", "rm", "rp"):
        for does in ("add", "sub", "mul"):
            yield Operation(f"{does}.{mode}.f32x2", does, "f32", ("f32", "f32"), 2, mode)
        yield Operation(f"fma.{mode}.f32x2", "fma", "f32", ("f32", "f32", "f32"), 2, mode)


def _pairs() -> Iterator[Operation]:
    for mode, a in itertools.product(("rn", "rz", "rm", "rp"), ("f16", "bf16")):
        for does in ("add", "sub"):
            yield Operation(f"{does}.{mode}.f32x2.{a}x2.f32x2", does, "f32", (a, "f32"), 2, mode)
        text = f"fma.{mode}.f32x2.{a}x2.f32x2.f32x2"
        yield Operation(text, "fma", "f32", (a, "f32", "f32"), 2, mode)
    for does, d in itertools.product(("add", "sub", "mul"), ("f16", "bf16")):
        ftz = ".ftz" if d == "f16" else ""
        text = f"{does}.rz{ftz}.{d}x2.f32x2.f32x2"
        yield Operation(text, does, d, ("f32", "f32"), 2, "rz", ftz=bool(ftz))
    yield Operation("mul.f16x2.f16x2.bf16x2", "mul", "f16", ("f16", "bf16"), 2)
    yield Operation("mul.bf16x2.bf16x2.f16x2", "mul", "bf16", ("bf16", "f16"), 2)


def _floats(words: Words) -> list[list[Number]]:
    form = FORMATS["f32"]
    return [[form.value(int(bits)) for bits in row] for row in words]


def _least(values: list[Number], largest: bool, propagates: bool, magnitude: bool) -> int:
    """Return the bits of the least or largest of several numbers; -0 is below +0."""
    form = FORMATS["f32"]
    if magnitude:
        values = [minus(v) if not is_nan(v) and math.copysign(1, v) < 0 else v for v in values]
    numbers = [value for value in values if not is_nan(value)]
    if not numbers or (propagates and len(numbers) < len(values)):
        return 0x7FFFFFFF
    order = sorted(numbers, key=lambda value: (value, math.copysign(1, value)))
    return form.bits(order[-1] if largest else order[0])


def _extremes() -> Iterator[Sum]:
    """Min and max of three, and over a warp."""

    def edged(stream: Stream, count: int) -> Words:
        columns = [np.roll(_near(stream, "f32", count), 3 * n) for n in range(3)]
        return np.stack(columns, axis=1)

    load = "ld.global.b32 f1, [src]; ld.global.b32 f2, [src+4]; ld.global.b32 f3, [src+8];"
    for word, propagates, magnitude in itertools.product(
        ("min", "max"), (False, True), (False, True)
    ):
        tail = f"{'.NaN' if propagates else ''}{'.abs' if magnitude else ''}.f32"
        modes = (word == "max", propagates, magnitude)

        def three(words: Words, modes: tuple[bool, bool, bool] = modes) -> Words:
            return np.array([_least(row, *modes) for row in _floats(words)], np.uint64)

        lines = f"{load} {word}{tail} f0, f1, f2, f3; st.global.b32 [dst], f0;"
        yield Sum(f"{word}{tail} of three", lines, three, 3, _THREADS, inputs=edged)

        def warp(words: Words, modes: tuple[bool, bool, bool] = modes) -> Words:
            rows = [[row[0] for row in _floats(words[at : at + 32])] for at in (0, 32)]
            return np.repeat([_least(row, *modes) for row in rows], 32).astype(np.uint64)

        tail = f"{'.abs' if magnitude else ''}{'.NaN' if propagates else ''}.f32"
        lines = f"{load} redux.sync.{word}{tail} f0, f1, -1; st.global.b32 [dst], f0;"
        yield Sum(f"redux.sync.{word}{tail}", lines, warp, 3, _THREADS, inputs=edged)


_COMPARE: dict[str, Callable[[Words, Words], Words]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b, "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}  # fmt: skip
_VIEWS = {"u8x4": np.uint8, "s8x4": np.int8, "u16x2": np.uint16, "s16x2": np.int16}


def _packed_integers() -> Iterator[Sum]:
    load = "ld.global.b32 r1, [src]; ld.global.b32 r2, [src+4];"
    store = "st.global.b32 [dst], r0;"

    def split(words: Words, kind: str) -> tuple[Words, Words]:
        return tuple(np.ascontiguousarray(words[:, n : n + 1]).view(_VIEWS[kind]) for n in (0, 1))

    for kind, sat in itertools.product(("u8x4", "s8x4"), (False, True)):

        def difference(words: Words, kind: str = kind, sat: bool = sat) -> Words:
            a, b = split(words, kind)
            wide = a.astype(np.int64) - b
            limits = np.iinfo(_VIEWS[kind])
            if sat:
                wide = np.clip(wide, limits.min, limits.max)
            return wide.astype(_VIEWS[kind]).view(np.uint32)

        text = f"sub{'.sat' if sat else ''}.{kind}"
        yield Sum(text, f"{load} {text} r0, r1, r2; {store}", difference, 2, version="9.4")

    def negated(words: Words) -> Words:
        return (-split(words, "s8x4")[0].astype(np.int64)).astype(np.int8).view(np.uint32)

    yield Sum("neg.s8x4", f"{load} neg.s8x4 r0, r1; {store}", negated, 2, version="9.4")
    for kind, word in itertools.product(_VIEWS, _COMPARE):
        if kind[0] == "s" and word in ("lo", "ls", "hi", "hs"):
            continue

        def compared(words: Words, kind: str = kind, word: str = word) -> Words:
            words[::4, 1] = words[::4, 0]
            a, b = split(words, kind)
            return np.where(_COMPARE[word](a, b), -1, 0).astype(_VIEWS[kind]).view(np.uint32)

        same = "rem.u32 r3, tid, 4; setp.eq.u32 p0, r3, 0; @p0 mov.b32 r2, r1;"
        text = f"set.{word}.{kind}"
        lines = f"{load} {same} {text} r0, r1, r2; {store}"
        yield Sum(text, lines, compared, 2, version="9.4")


def _carryless() -> Iterator[Sum]:
    """clmad: products of polynomials over two elements."""
    load = "ld.global.b64 d1, [src]; ld.global.b64 d2, [src+8]; ld.global.b64 d3, [src+16];"
    for half in ("lo", "hi"):

        def after(words: Words, half: str = half) -> Words:
            rows = np.ascontiguousarray(words).view(np.uint64)
            found = []
            for a, b, c in rows.tolist():
                product = 0
                for place in range(64):
                    product ^= (a << place) if b >> place & 1 else 0
                found.append((product >> (64 if half == "hi" else 0) & (2**64 - 1)) ^ c)
            return np.array(found, np.uint64).view(np.uint32)

        lines = f"{load} clmad.{half}.u64 d0, d1, d2, d3; st.global.b64 [dst], d0;"
        yield Sum(f"clmad.{half}.u64", lines, after, 6, version="9.4")


def _video() -> Iterator[Sum]:
    """Vmad with signs: factors of 16 bits, for which the manual and every machine agree."""
    load = "ld.global.b32 r1, [src]; ld.global.b32 r2, [src+4]; ld.global.b32 r3, [src+8];"
    cut = "and.b32 r1, r1, 0x7fff; and.b32 r2, r2, 0x7fff;"
    for operands, signs in (
        ("r1, r2, -r3", (1, -1)),
        ("-r1, -r2, -r3", (1, -1)),
        ("-r1, r2, r3", (-1, 1)),
    ):

        def after(words: Words, signs: tuple[int, int] = signs) -> Words:
            a, b, c = (words[:, n].astype(np.int64) for n in range(3))
            return (signs[0] * (a & 0x7FFF) * (b & 0x7FFF) + signs[1] * c) & 0xFFFFFFFF

        text = f"vmad.s32.s32.s32 r0, {operands}"
        yield Sum(text, f"{load} {cut} {text}; st.global.b32 [dst], r0;", after, 3)


class ArithmeticSet:
    """What later targets compute."""

    name = "arithmetic"
    about = "mixed precision, packed f32 and bytes, three operands, carryless products"
    targets: tuple[str, ...] = ("sm_90a", "sm_100a", "sm_107a")

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        sums = {
            "sm_90a": lambda: itertools.chain(_carryless(), _video()),
            "sm_100a": lambda: itertools.chain(
                map(_sum, itertools.chain(_bytes(), _single())), _extremes()
            ),
            "sm_107a": lambda: itertools.chain(map(_sum, _pairs()), _packed_integers()),
        }
        yield from works(sums[target](), target)
