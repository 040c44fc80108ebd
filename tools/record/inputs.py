# SPDX-License-Identifier: Apache-2.0
"""Operand values for scalar instructions: pairs of edge values first, then random ones.

Every type has one array per operand position, shared by all instructions that take the type.
"""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .launch import Bytes
from .stream import Stream

CASES = 2048
POSITIONS = 4
_ALIGN = 256
OUTSIDE_NAN = 0x7FF7  # what tensor copies fill in; fma.oob knows it


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: bits of the exponent and of the fraction."""

    bits: int
    exponent: int
    fraction: int


FORMATS = {
    "f16": Format(16, 5, 10),
    "bf16": Format(16, 8, 7),
    "f32": Format(32, 8, 23),
    "tf32": Format(32, 8, 23),
    "f64": Format(64, 11, 52),
}


def integer_edges(bits: int) -> list[int]:
    """Zero, ones, the ends of the ranges, powers, counts around the width."""
    top = 1 << (bits - 1)
    values = [0, 1, 2, 3, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2]
    values += [bits - 1, bits, bits + 1, 7, 15, 16, 31, 32, 63, 64, 255, 256]
    values += [top >> 1, (top >> 1) - 1, 0x5555555555555555, 0x1234567890ABCDEF >> (64 - bits)]
    return list(dict.fromkeys(value % (2 * top) for value in values))[:24]


def float_edges(kind: Format) -> list[int]:
    """Zeros, infinities, NaNs with payloads, the ends of the ranges, halves, large integers."""
    sign = 1 << (kind.bits - 1)
    ones = (1 << kind.exponent) - 1
    bias = ones >> 1
    infinity = ones << kind.fraction
    one = bias << kind.fraction
    half_bit = 1 << (kind.fraction - 1)
    quiet = OUTSIDE_NAN if kind.bits == 16 else infinity | half_bit
    values = [0, sign, infinity, sign | infinity]
    values += [quiet, 2 * sign - 1, infinity | 1, sign - 1]
    values += [1, sign | 1, (1 << kind.fraction) - 1, 1 << kind.fraction, sign | 1 << kind.fraction]
    values += [infinity - 1, sign | (infinity - 1), one, sign | one, one + 1, one - 1]
    values += [one + half_bit, sign | (one - (1 << kind.fraction)), one + (3 << kind.fraction)]
    values += [
        min(one + (31 << kind.fraction), infinity - 2),
        one + (kind.fraction << kind.fraction),
    ]
    return values[:24]


def _edged(edges: list[int], position: int, random: list[int]) -> list[int]:
    """Put every pair of edges in front of the random values; a third operand walks across."""
    count = len(edges)
    order = [
        [i for _ in range(count) for i in range(count)],
        [i for i in range(count) for _ in range(count)],
        [(5 * i + 7 * j) % count for i in range(count) for j in range(count)],
        [(3 * i + 11 * j + 1) % count for i in range(count) for j in range(count)],
    ][position]
    return ([edges[i] for i in order] + random)[:CASES]


def _random_integers(bits: int, position: int) -> list[int]:
    stream = Stream(f"integers {bits} {position}")
    words = [int(w) >> (64 - bits) for w in stream.words(CASES)]
    widths = stream.below(bits, CASES)
    small = stream.below(72, CASES)
    mask = (1 << bits) - 1
    return [
        (word, word >> int(width), int(little) & mask, -int(little) & mask)[case % 4]
        for case, (word, width, little) in enumerate(zip(words, widths, small, strict=True))
    ]


def _random_floats(name: str, kind: Format, position: int) -> list[int]:
    stream = Stream(f"floats {name} {position}")
    words = [int(w) >> (64 - kind.bits) for w in stream.words(CASES)]
    bias = (1 << (kind.exponent - 1)) - 1
    near = stream.below(8, CASES)
    far = stream.below(min(96, 2 * bias), CASES)
    keep = ~(((1 << kind.exponent) - 1) << kind.fraction)
    exponents = [
        (bias + int(n) - 4, max(1, bias + int(f) - min(40, bias - 1)))
        for n, f in zip(near, far, strict=True)
    ]
    top = 2 * bias
    found = []
    for case, word in enumerate(words):
        if case % 4 == 3:
            found.append(word)
        else:
            exponent = exponents[case][0 if case % 4 < 2 else 1]
            found.append(word & keep | min(exponent, top) << kind.fraction)
    return found


def _array(values: list[int], bits: int) -> Any:
    return np.array(values, {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])


@functools.cache
def _scalars(kind: str, position: int) -> Any:
    if kind in FORMATS:
        form = FORMATS[kind]
        random = _random_floats(kind, form, position)
        return _array(_edged(float_edges(form), position, random), form.bits)
    bits = int(kind[1:])
    if bits == 8:  # every byte, in another order for each operand
        steps = (1, 83, 41, 19)
        return _array([(i * steps[position] + i // 256 * 7) % 256 for i in range(CASES)], 8)
    return _array(_edged(integer_edges(bits), position, _random_integers(bits, position)), bits)


def pool_kind(type_name: str) -> tuple[str, int]:
    """Return the scalar kind that fills a PTX type, and how many of them it holds."""
    name, _, lanes = type_name.partition("x")
    if lanes and not re.fullmatch(r"\d+", lanes):
        raise ValueError(type_name)
    count = int(lanes or 1)
    if name in FORMATS:
        return name, count
    if name == "b128":
        return "i64", 2
    match = re.fullmatch(r"[bus](8|16|32|64)", name)
    if match:
        return f"i{match[1]}", count
    return "i8", 1 if type_name == "e2m1x2" else 2 if type_name == "e2m1x4" else count


class Pool:
    """One buffer with the values of every kind and position, and where they lie."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, int, int], int] = {}
        self.arrays: dict[tuple[str, int, int], Any] = {}
        chunks: list[bytes] = []
        place = 0
        kinds = [*FORMATS, "i8", "i16", "i32", "i64"]
        lanes = (1, 2, 4)
        for kind, count, position in itertools.product(kinds, lanes, range(POSITIONS)):
            width = _scalars(kind, position).itemsize * count
            if width > 16:
                continue
            array = self._packed(kind, count, position)
            key = (kind, count, position)
            self.places[key], self.arrays[key] = place, array
            data = array.tobytes()
            chunks.append(data + bytes(-len(data) % _ALIGN))
            place += len(chunks[-1])
        self.buffer: Bytes = np.frombuffer(b"".join(chunks), np.uint8)

    def place(self, type_name: str, position: int) -> int:
        """Return the offset of the values of a type for an operand position."""
        return self.places[(*pool_kind(type_name), position % POSITIONS)]

    def text(self, type_name: str, position: int, case: int) -> str:
        """Return a value in hexadecimal, the highest lane first."""
        row = self.arrays[(*pool_kind(type_name), position % POSITIONS)][case]
        return f"0x{row.tobytes()[::-1].hex()}"

    @staticmethod
    def _packed(kind: str, count: int, position: int) -> Any:
        """Lane n of a packed value walks the cases from another start."""
        columns = [np.roll(_scalars(kind, position), 131 * lane) for lane in range(count)]
        return np.stack(columns, axis=1)
