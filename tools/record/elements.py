# SPDX-License-Identifier: Apache-2.0
"""Elements of matrix operands: bits of a format in several kinds of distribution.

The kinds are what sets the exact sums of a tensor core apart: numbers of like size, of any size,
zeros beside large numbers, numbers at the bottom of the range, infinities and NaNs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .stream import Stream


@dataclass(frozen=True)
class Float:
    """Bits of the exponent and of the fraction, in a container of `bits`."""

    bits: int
    exponent: int
    fraction: int

    @property
    def bias(self) -> int:
        """The exponent of one."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def ones(self) -> int:
        """The greatest biased exponent."""
        return (1 << self.exponent) - 1


FLOATS = {
    "f16": Float(16, 5, 10),
    "bf16": Float(16, 8, 7),
    "tf32": Float(32, 8, 23),
    "f32": Float(32, 8, 23),
    "e4m3": Float(8, 4, 3),
    "e5m2": Float(8, 5, 2),
    "f64": Float(64, 11, 52),
}
KINDS = ("like", "wide", "zeros", "small", "special", "apart")
_WIDTHS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def _exponents(kind: str, form: Float, words: Any) -> Any:
    """Biased exponents, by 32 random bits each."""
    like = form.bias - 2 + words % 5
    top = form.ones - (1 if form.exponent != 4 else 0)  # e4m3 has numbers there
    wide = words % (top + 1)
    small = words % min(4, top)
    return {"wide": wide, "zeros": wide, "small": small}.get(kind, like)


def floats(name: str, kind: str, count: int, stream: Stream, lift: int = 0) -> Any:
    """Return `count` elements as unsigned integers; `lift` is added to the exponents of "apart"."""
    form = FLOATS[name]
    words = stream.words(count).astype(np.uint64)
    low = (words & np.uint64(0xFFFFFFFF)).astype(np.int64)
    fraction = stream.words(count) & np.uint64((1 << form.fraction) - 1)
    exponent = _exponents(kind, form, low >> 4)
    if kind == "apart" and lift:
        exponent = np.clip(exponent + low % (lift + 1), 1, form.ones - 1)
    sign = (words >> np.uint64(63)) << np.uint64(form.exponent + form.fraction)
    bits = sign | exponent.astype(np.uint64) << np.uint64(form.fraction) | fraction
    chance = (words >> np.uint64(32)).astype(np.int64) % 64
    if kind == "zeros":
        bits = np.where(chance < 24, sign, bits)
    if kind == "special":
        ones = np.uint64(form.ones << form.fraction)
        infinity = sign | ones | (np.uint64(6) if name == "e4m3" else np.uint64(0))
        nan = sign | ones | np.uint64((1 << form.fraction) - 1)
        bits = np.where(chance == 0, infinity, bits)
        bits = np.where(chance == 1, nan, bits)
        bits = np.where((chance == 2) | (chance == 3), sign, bits)
    return bits.astype(_WIDTHS[form.bits])


def integers(bits: int, kind: str, count: int, stream: Stream) -> Any:
    """Return words of `bits` each; "small" has the ends of the range only."""
    kept = {1: 8, 4: 8}.get(bits, bits)
    words = stream.bits(kept, count * bits // kept)
    if kind != "small":
        return words
    ends = np.array([0, (1 << (kept - 1)) - 1, 1 << (kept - 1), (1 << kept) - 1])
    return ends[words % 4].astype(_WIDTHS[kept])


def elements(name: str, kind: str, count: int, stream: Stream, lift: int = 0) -> Any:
    """Return the bytes of `count` elements of this type."""
    if name in FLOATS:
        return floats(name, kind, count, stream, lift).view(np.uint8)
    return integers(int(name[1:]), kind, count, stream).view(np.uint8)


def metadata(name: str, count: int, stream: Stream, *, is_ordered: bool = True) -> Any:
    """Return words of valid sparsity metadata: eight groups of four bits."""
    if name == "tf32":
        choices = [0x4, 0xE]
    else:
        choices = [first | second << 2 for second in range(4) for first in range(second)]
        if not is_ordered:
            choices += [first | second << 2 for first in range(4) for second in range(first)]
    picked = np.array(choices, np.uint32)[stream.below(len(choices), 8 * count)]
    shifts = np.arange(8, dtype=np.uint32) * 4
    return (picked.reshape(count, 8) << shifts).sum(axis=1).astype(np.uint32)
