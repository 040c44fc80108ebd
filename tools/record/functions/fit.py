# SPDX-License-Identifier: Apache-2.0
"""Recovers the tables of the unit for special functions from its answers.

The unit cuts an argument into a segment and 17 bits x, and answers C0 + C1 x + C2 x^2 with a
coefficient of each kind per segment and a squarer that drops its low partial products (Oberman and
Siu, "A High-Performance Area-Efficient Multifunction Interpolator", 2005). An answer says between
which bounds that sum lies; over all x of a segment the bounds leave one C1, one C2 and a narrow
range for the rest, in which all segments of a function have the same last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
# Of a form, the answers from an input on, every so many inputs, so many of them.
Answers: TypeAlias = Callable[[str, int, int, int], Array]

X_BITS = 17
MANTISSA = 1 << 23
TANH_SEGMENTS = {
    119: 0, 120: 0, 121: 0, 122: 1, 123: 1, 124: 2, 125: 2, 126: 2, 127: 3, 128: 4, 129: 3,
}  # fmt: skip
TANH_BITS = 48  # of a sum below one
_QUADRANTS = 0x3E22F983  # sin and cos multiply by it, towards zero: 1 / (2 pi)


@dataclass(frozen=True)
class Table:
    """A function's coefficients by segment; the sum is (C0 << shift) + bias + C1 x + (C2 << up) x2.

    C1 counts `unit` each.
    """

    name: str
    shift: int
    unit: int
    up: int
    bias: int
    rows: list[tuple[int, int, int]]


@dataclass(frozen=True)
class _Segment:
    """What is known of a segment: per answer, x and the bounds of the sum."""

    x: Array
    low: Array
    high: Array


def square(x: Array) -> Array:
    """Return what the unit makes of a square: 17 bits squared, over 2^19, partial products cut."""
    total = np.zeros_like(x)
    for bit in range(X_BITS):
        total += np.where(x >> bit & 1, x >> (18 - bit), 0)
    return total >> 1


def _bounds(answers: Array, scale: int, cut: int = 0) -> tuple[Array, Array]:
    """Return between which sums answers lie that are cut to 24 bits, one being 2^scale.

    `cut`: bits that are gone before the sum is a float.
    """
    exponent = (answers >> 23) - 127
    significand = answers & (MANTISSA - 1) | MANTISSA
    step = exponent + scale - 23
    kept = np.maximum(step, cut)
    low = np.where(
        step >= 0, significand << np.maximum(step, 0), significand >> -np.minimum(step, 0)
    )
    low = np.where(answers == 0, 0, low)
    return low, low + (1 << kept) - 1


def _pairs(segment: _Segment, unit: int, up: int) -> Iterator[tuple[int, int, int, int]]:
    """Give every C1 and C2 that explain a segment, with the range of what is left."""
    x, low, high = segment.x, segment.low, segment.high
    x2 = square(x)
    columns = np.stack([np.ones(x.size), x, x2], axis=1)
    middle = (low + high) / 2.0
    guess = np.linalg.lstsq(columns, middle, rcond=None)[0]
    some = np.unique(np.r_[np.arange(0, x.size, 257), 0:3, x.size - 3 : x.size])
    around = round(guess[2] / 2**up)
    for c2 in range(around - 6, around + 7):
        square_part = (c2 << up) * x2
        while True:
            bent = middle[some] - square_part[some]
            slope = round(np.polyfit(x[some], bent, 1)[0] / 2**unit)
            tried = np.arange(slope - 40, slope + 41) << unit
            lines = tried[:, None] * x[some]
            least = (low[some] - square_part[some] - lines).max(axis=1)
            most = (high[some] - square_part[some] - lines).min(axis=1)
            missed: list[int] = []
            found = []
            for c1 in tried[least <= most]:
                left, right = low - square_part - c1 * x, high - square_part - c1 * x
                if left.max() <= right.min():
                    found.append((int(c1) >> unit, c2, int(left.max()), int(right.min())))
                else:
                    missed += [int(left.argmax()), int(right.argmin())]
            if not missed:
                yield from found
                break
            some = np.unique(np.r_[some, missed])


def solve(name: str, segments: list[_Segment], shift: int, unit: int, up: int) -> Table:
    """Find the coefficients of all segments and the bias that they share."""
    found = [list(_pairs(segment, unit, up)) for segment in segments]
    for number, pairs in enumerate(found):
        if len(pairs) != 1:
            raise ValueError(f"{name}: segment {number} has {len(pairs)} solutions")
    ranges = [pairs[0][2:] for pairs in found]
    mask = (1 << shift) - 1
    candidates = {end & mask for both in ranges for end in both}
    bias = max(
        sorted(candidates), key=lambda b: sum(low <= (high - b & ~mask) + b for low, high in ranges)
    )
    rows = []
    for number, ((c1, c2, low, high),) in enumerate(found):
        c0 = (high - bias) >> shift
        if (c0 << shift) + bias < low:
            raise ValueError(f"{name}: segment {number} has another bias than {bias:#x}")
        rows.append((c0, c1, c2))
    return Table(name, shift, unit, up, bias, rows)


def _cut(x: Array, answers: Array, bits: int, scale: int, cut: int = 0) -> list[_Segment]:
    """Cut an array of answers, one for each value of the argument, into segments."""
    low, high = _bounds(answers.astype(np.int64), scale, cut)
    count = x.size >> bits
    return [
        _Segment(x[:count], low[at : at + count], high[at : at + count])
        for at in range(0, x.size, count)
    ]


def _argument(bits: int, count: int) -> Array:
    """Return x for `count` arguments in 2^bits segments."""
    return np.arange(count, dtype=np.int64) % (count >> bits)


def rcp(answers: Answers) -> Table:
    """128 segments of 16 bits, which are the upper ones of x."""
    found = answers("rcp.approx.ftz.f32", 127 * MANTISSA, 1, MANTISSA)
    return solve("Rcp", _cut(2 * _argument(7, MANTISSA), found, 7, 40), 14, 0, 1)


def rsqrt(answers: Answers) -> Table:
    """64 segments for each of two exponents; one has an answer of its own."""
    found = answers("rsqrt.approx.ftz.f32", 127 * MANTISSA, 1, 2 * MANTISSA)
    segments = _cut(_argument(7, 2 * MANTISSA), found, 7, 40)
    first = segments[0]
    segments[0] = _Segment(first.x[1:], first.low[1:], first.high[1:])
    return solve("Rsqrt", segments, 14, 0, 2)


def sqrt(answers: Answers) -> Table:
    """As rsqrt."""
    found = answers("sqrt.approx.ftz.f32", 127 * MANTISSA, 1, 2 * MANTISSA)
    return solve("Sqrt", _cut(_argument(7, 2 * MANTISSA), found, 7, 40), 15, 0, 1)


def ex2(answers: Answers) -> Table:
    """64 segments of the fraction."""
    found = answers("ex2.approx.ftz.f32", 127 * MANTISSA, 1, MANTISSA) - MANTISSA
    return solve("Ex2", _cut(_argument(6, MANTISSA), found, 6, 38), 13, 0, 0)


def lg2(answers: Answers) -> Table:
    """64 segments; two bits go before the exponent is added."""
    found = answers("lg2.approx.ftz.f32", 127 * MANTISSA, 1, MANTISSA)
    segments = _cut(_argument(6, MANTISSA), found, 6, 38, cut=2)
    first = segments[0]
    segments[0] = _Segment(first.x[1:], first.low[1:], first.high[1:])
    return solve("Lg2", segments, 12, 0, 1)


def sin(answers: Answers) -> Table:
    """64 segments of a quadrant; every quadrant is one of the four that inputs up to 2 pi reach."""
    first, count = 129 * MANTISSA, MANTISSA
    found = answers("sin.approx.ftz.f32", first, 1, count).astype(np.int64)
    inputs = (first + np.arange(count, dtype=np.int64)).astype(np.uint32).view(np.float32)
    factor = np.array([_QUADRANTS], np.uint32).view(np.float32).astype(np.float64)
    turns = np.floor(inputs.astype(np.float64) * factor * 2.0**25).astype(np.int64)
    # What a float keeps of it: 24 bits.
    turns = np.where(turns >= 1 << 25, turns & ~3, turns & ~1)
    quadrant = turns >> 23
    fraction = np.where(quadrant & 1, ~turns, turns) & (MANTISSA - 1)
    segment = fraction >> X_BITS
    x = fraction & ((1 << X_BITS) - 1)
    low, high = _bounds(found & 0x7FFFFFFF, 37)
    segments = []
    for number in range(64):
        here = segment == number
        segments.append(_Segment(x[here], low[here], high[here]))
    return solve("Sin", segments, 11, 0, 0)


def tanh(answers: Answers) -> Table:
    """From 2^-8 to 8, more segments in an octave the larger it is."""
    segments = []
    for exponent, bits in TANH_SEGMENTS.items():
        stride = 4 if bits > 3 else 8
        count = MANTISSA // stride
        found = answers("tanh.approx.f32", exponent * MANTISSA, stride, count)
        x = (_argument(bits, count) * stride) >> (23 - X_BITS - bits)
        segments += _cut(x, found, bits, TANH_BITS)
    return solve("Tanh", segments, 24, 9, 10)


FITS = (rcp, rsqrt, sqrt, ex2, lg2, sin, tanh)
