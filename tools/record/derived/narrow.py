# SPDX-License-Identifier: Apache-2.0
"""cvt to and from 8-, 6- and 4-bit floats, scales and fixed point, with .pzo and .rs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from record.formats import FORMATS, Number, is_nan, scale_of, times
from record.stream import Stream
from record.worked import Sum, Words, Worked, works

_THREADS = 128
_SLOTS = {"e2m1": 4}  # bits of an element in its register, where not 8 or 16
_NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")


@dataclass(frozen=True)
class Spelling:
    """What a conversion does: types of an element, and its modifiers."""

    to: str
    source: str
    mode: str
    count: int = 2
    relu: bool = False
    saturates: bool = False
    positive: bool = False  # .pzo
    scaled: int = 0  # .scaled::n1 or ::n2

    @property
    def text(self) -> str:
        """The opcode with its modifiers."""
        pair = "x2" if self.count == 2 else ""
        source = self.source if self.source == "f32" else f"{self.source}x2"
        scaled = f".scaled::n{self.scaled}::ue8m0" if self.scaled else ""
        words = [
            f"cvt.{self.mode}", ".satfinite" if self.saturates else "",
            ".relu" if self.relu else "", ".pzo" if self.positive else "", scaled,
            f".{self.to}{pair}.{source}",
        ]  # fmt: skip
        return "".join(words)

    def element(self, number: Number, scale: Number, random: Fraction | int = 0) -> int:
        """Convert one element."""
        if self.scaled == 1:
            number = _flushed(number, self.source)
        if self.scaled:
            is_up = self.to in ("f16", "bf16")
            number = times(number, scale if is_up or is_nan(scale) else 1 / Fraction(scale))
        if self.relu and not is_nan(number) and math.copysign(1, number) < 0:
            number = Fraction(0)
        if self.to == "ue8m0":
            return _scale(number, self.mode)
        if self.to == "s2f6":
            return _fixed(number, self.mode)
        form = FORMATS[self.to]
        bits = form.bits(number, self.mode, self.saturates or form.nan is None, random)
        if self.positive and bits == form.sign:
            return 0
        return bits


def _flushed(number: Number, source: str) -> Number:
    """Return zero for what is subnormal in the source's format."""
    least = Fraction(1, 1 << (FORMATS[source].bias - 1))
    if is_nan(number) or not number or number >= least or number <= -least:
        return number
    return -0.0 if number < 0 else Fraction(0)


def _scale(number: Number, mode: str) -> int:
    """Return the power of two at or beside a positive number."""
    if is_nan(number):
        return 0xFF
    if math.isinf(number):
        return 0xFE
    exact = Fraction(number)
    for bits in range(0xFF):
        value = Fraction(2) ** (bits - 127)
        if value >= exact:
            return bits if value == exact or mode == "rp" else max(bits - 1, 0)
    return 0xFE


def _fixed(number: Number, mode: str) -> int:
    """Return two's complement with six bits behind the point."""
    if is_nan(number):
        return 0x7F
    if math.isinf(number):
        return 0x80 if number < 0 else 0x7F
    steps = Fraction(number) * 64
    whole = math.trunc(steps) if mode == "rz" else round(steps)
    return min(max(whole, -128), 127) & 0xFF


def _value(kind: str, bits: int) -> Number:
    if kind == "ue8m0":
        return scale_of(bits)
    if kind == "s2f6":
        return Fraction(bits - 256 if bits & 0x80 else bits, 64)
    return FORMATS[kind].value(bits)


def _slot(kind: str) -> int:
    return 32 if kind in ("f32", "tf32") else 16 if kind in ("f16", "bf16") else _SLOTS.get(kind, 8)


def _width(kind: str) -> int:
    """Bits of an element; those above them in a slot are zero."""
    return 6 if kind in ("e2m3", "e3m2") else _slot(kind)


def _f32(stream: Stream, count: int, is_positive: bool, low: int, high: int) -> Words:
    """Make numbers with exponents from `low` to `high`, few bits set so that ties occur."""
    exponents = stream.below(high - low + 1, count) + (127 + low)
    fractions = stream.bits(32, count) >> 9
    keep = (np.uint32(0x7FFFFF) << stream.below(24, count).astype(np.uint32)) & np.uint32(0x7FFFFF)
    signs = np.zeros(count, np.uint32) if is_positive else stream.bits(32, count) & 0x80000000
    found = signs | (exponents.astype(np.uint32) << 23) | (fractions & keep)
    edges = [0, 0x7F800000, 0x7FC00001, 1, 0x00400000, 0x3F800000, 0x47800000, 0x38000000]
    found[: len(edges)] = edges
    if not is_positive:
        found[len(edges) : 2 * len(edges)] = np.array(edges, np.uint32) | 0x80000000
    return found


def _halves(stream: Stream, count: int, kind: str, is_positive: bool) -> Words:
    """Make pairs of f16 or bf16 near one."""
    form = FORMATS[kind]
    parts: list[Words] = []
    for _ in range(2):
        exponents = (stream.below(17, count) + form.bias - 10).astype(np.uint32)
        fractions = stream.bits(32, count) >> (32 - form.fraction)
        signs = np.zeros(count, np.uint32) if is_positive else (stream.bits(32, count) & 1) << 15
        found = signs | np.minimum(exponents, 2 * form.bias) << form.fraction | fractions
        found[:4] = [0, form.infinity, form.infinity | 1, 1]
        parts.append(np.roll(found, 7 * len(parts)))
    return parts[0] | parts[1] << 16


_RANGES = {
    "e4m3": (-12, 10), "e5m2": (-20, 17), "e2m3": (-5, 4), "e3m2": (-7, 6), "e2m1": (-4, 4),
    "ue5m3": (-20, 18), "ue8m0": (-126, 127), "s2f6": (-8, 3), "f16": (-27, 17),
    "bf16": (-126, 127), "tf32": (-126, 127),
}  # fmt: skip
_UNSIGNED = ("ue8m0", "ue5m3")


def _inputs(one: Spelling) -> Callable[[Stream, int], Words]:
    """Make two words of sources and one of scales or random bits."""

    def make(stream: Stream, count: int) -> Words:
        is_positive = one.to in _UNSIGNED
        if one.source == "f32":
            shift = 8 if one.scaled else 0
            low, high = _RANGES[one.to]
            first, second = (
                _f32(stream, count, is_positive, low - shift, min(high + shift, 127))
                for _ in range(2)
            )
            second = np.roll(second, 5)
        elif one.source in ("f16", "bf16"):
            first = _halves(stream, count, one.source, is_positive)
            second = first
        else:  # every byte
            first = (np.arange(count, dtype=np.uint32) * 2 + 1) & 0xFF
            first |= (np.arange(count, dtype=np.uint32) * 2 & 0xFF) << 8
            second = first
        if one.mode == "rs":
            third = stream.bits(32, count)
        else:  # scales near one
            low, high = (stream.below(17, count).astype(np.uint32) + 119 for _ in range(2))
            third = low | high << 8
            third[:2] = [0xFFFF, 0xFF7F]
        return np.stack([first, second, third], axis=1)

    return make


def _random(one: Spelling, word: int, place: int) -> Fraction:
    """Return what element `place` adds: 13 or 16 bits below the last place of its format."""
    width = 23 - FORMATS[one.to].fraction
    return Fraction(word >> (16 * place) & ((1 << width) - 1), 1 << width)


def _after(one: Spelling) -> Callable[[Words], Words]:
    def elements(row: Words) -> int:
        result = 0
        for place in range(one.count):
            if one.source == "f32":
                bits = int(row[1 - place] if one.count == 2 else row[0])
            else:
                bits = int(row[0]) >> (_slot(one.source) * place)
            number = _value(one.source, bits & ((1 << _width(one.source)) - 1))
            scale = scale_of(int(row[2]) >> (8 * place if one.scaled == 2 else 0) & 0xFF)
            random: Fraction | int = 0
            if one.mode == "rs":
                random = _random(one, int(row[2]), place)
            result |= one.element(number, scale, random) << (_slot(one.to) * place)
        return result << 13 if one.to == "tf32" and result != 0x3FFFF else result

    def after(words: Words) -> Words:
        found = [elements(row) for row in words]
        if one.to == "tf32":
            found = [0x7FFFFFFF if bits == 0x3FFFF else bits for bits in found]
        return np.array(found, np.uint64)

    return after


def _lines(one: Spelling) -> str:
    """Load, convert, store; an operand has the size of its type."""
    bits = _slot(one.to) * one.count
    result = {4: "b0", 8: "b0", 16: "h0", 32: "r0"}[max(bits, 8)]
    sources = "f0, f1" if one.count == 2 else "f0"
    if one.source != "f32":
        sources = {8: "b1", 16: "h1", 32: "r1"}[2 * _slot(one.source)]
    extra = ", b2" if one.scaled == 1 else ", h2" if one.scaled == 2 else ""
    extra = ", r3" if one.mode == "rs" else extra
    widen = {"b0": "cvt.u32.u8 r0, b0;", "h0": "cvt.u32.u16 r0, h0;", "r0": ""}[result]
    return (
        "ld.global.b32 r1, [src]; ld.global.b32 r2, [src+4]; ld.global.b32 r3, [src+8];"
        "mov.b32 f0, r1; mov.b32 f1, r2; cvt.u16.u32 h1, r1; cvt.u8.u32 b1, r1; cvt.u8.u32 b2, r3;"
        f"cvt.u16.u32 h2, r3; {one.text} {result}, {sources}{extra};"
        f"{widen} st.global.b32 [dst], r0;"
    )


def _spellings(target: str) -> Iterator[Spelling]:
    if target == "sm_89":
        for to, source in itertools.product(("e4m3", "e5m2"), ("f32", "f16")):
            for relu in (False, True):
                yield Spelling(to, source, "rn", relu=relu, saturates=True)
                yield Spelling("f16", to, "rn", relu=relu)
        return
    if target == "sm_100a":
        yield from _blackwell()
        return
    switches = [(False, False), (True, False), (False, True), (True, True)]
    for to, mode, (relu, saturates) in itertools.product(("f16", "bf16"), ("rn", "rz"), switches):
        for count in (1, 2):
            yield Spelling(to, "f32", mode, count, relu, saturates, positive=True)
    for mode, (relu, saturates) in itertools.product(("rn", "rz"), switches):
        yield Spelling("tf32", "f32", mode, 1, relu, saturates, positive=True)
    for to, mode in itertools.product(_NARROW, ("rn", "rz")):
        for source in ("f32", "f16", "bf16"):
            yield Spelling(to, source, mode, relu=mode == "rz", saturates=True, positive=True)
            yield Spelling(to, source, mode, saturates=True, positive=mode == "rz", scaled=1)
    for mode, saturates in itertools.product(("rn", "rz", "rp"), (False, True)):
        for source in ("f32", "f16", "bf16"):
            yield Spelling("ue5m3", source, mode, saturates=saturates)
            if mode != "rp":
                yield Spelling("ue5m3", source, mode, saturates=saturates, scaled=1)
    yield Spelling("f16", "ue5m3", "rn")
    yield Spelling("bf16", "ue5m3", "rn")
    yield Spelling("bf16", "ue5m3", "rn", saturates=True, scaled=2)


def _blackwell() -> Iterator[Spelling]:
    for to, relu, saturates in itertools.product(("f16", "bf16"), (False, True), (False, True)):
        yield Spelling(to, "f32", "rs", 2, relu, saturates)
    for to, relu in itertools.product(_NARROW, (False, True)):
        for source in ("f32", "f16", "bf16"):
            yield Spelling(to, source, "rn", relu=relu, saturates=True)
    for source, relu in itertools.product((*_NARROW, "s2f6"), (False, True)):
        if source != "s2f6":
            yield Spelling("f16", source, "rn", relu=relu)
        for saturates, scaled in itertools.product((False, True), (0, 2)):
            yield Spelling("bf16", source, "rn", 2, relu, saturates, scaled=scaled)
    yield Spelling("bf16", "ue8m0", "rn")
    for mode, saturates, source in itertools.product(("rz", "rp"), (False, True), ("f32", "bf16")):
        yield Spelling("ue8m0", source, mode, saturates=saturates)
    for relu, scaled, source in itertools.product((False, True), (0, 2), ("f32", "bf16")):
        yield Spelling("s2f6", source, "rn", relu=relu, saturates=True, scaled=scaled)


class NarrowSet:
    """Conversions of later targets."""

    name = "narrow"
    about = "conversions to and from 8, 6 and 4 bits, .pzo, .rs"
    targets: tuple[str, ...] = ("sm_89", "sm_100a", "sm_107a")

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        sums = (
            Sum(one.text, _lines(one), _after(one), 3, _THREADS, version="9.4", inputs=_inputs(one))
            for one in _spellings(target)
        )
        yield from works(sums, target)
