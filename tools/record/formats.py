# SPDX-License-Identifier: Apache-2.0
"""Floating-point formats in exact arithmetic: what bits stand for, the bits of a rounded number.

Written from the manual's definitions with fractions, apart from the emulator's own code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

Number = Fraction | float  # a finite number, or an infinity, a NaN or a negative zero


@dataclass(frozen=True)
class Format:
    """A binary format; `nan` is its canonical NaN, None where it has none."""

    exponent: int
    fraction: int
    nan: int | None
    has_infinity: bool = True
    is_signed: bool = True
    top: int = 0  # the bits of the largest number, where not the one below infinity

    @property
    def bias(self) -> int:
        """The biased exponent of one."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.exponent + self.fraction)

    @property
    def infinity(self) -> int:
        """The bits of infinity, or the first bits that stand for no number."""
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def largest(self) -> int:
        """The bits of the largest number."""
        return self.top or self.infinity - 1

    def value(self, bits: int) -> Number:
        """Return the number that bits stand for."""
        magnitude = bits & (self.sign - 1) if self.is_signed else bits
        negative = self.is_signed and bits & self.sign != 0
        if magnitude > self.largest:
            if self.has_infinity and magnitude == self.infinity:
                return -math.inf if negative else math.inf
            return math.nan
        if magnitude == 0:
            return -0.0 if negative else Fraction(0)
        biased, fraction = divmod(magnitude, 1 << self.fraction)
        scale = max(biased, 1) - self.bias - self.fraction
        whole = fraction + ((1 << self.fraction) if biased else 0)
        number = Fraction(whole) * Fraction(2) ** scale
        return -number if negative else number

    def bits(
        self, number: Number, mode: str = "rn", saturates: bool = False, random: Fraction | int = 0
    ) -> int:
        """Return the bits of a number, rounded; `random` is what "rs" adds, in units of the last.

        Negative numbers have no bits in a format without a sign.
        """
        if isinstance(number, float) and math.isnan(number):
            return self.nan if self.nan is not None else self.largest
        negative = math.copysign(1, number) < 0 if isinstance(number, float) else number < 0
        sign = self.sign if negative else 0
        if isinstance(number, float) and math.isinf(number):
            return sign | (self.largest if saturates else self._beyond())
        steps, scale = self._steps(abs(Fraction(number)))
        whole = _ROUNDINGS[mode](steps, negative, Fraction(random))
        return sign | self._assembled(whole, scale, mode, negative, saturates)

    def _beyond(self) -> int:
        if self.has_infinity:
            return self.infinity
        return self.nan if self.nan is not None else self.largest

    def _steps(self, magnitude: Fraction) -> tuple[Fraction, int]:
        """Return a magnitude in units of its last place, and the unit's exponent."""
        least = 1 - self.bias - self.fraction
        exponent = least + self.fraction
        if magnitude:
            exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
            if magnitude < Fraction(2) ** exponent:
                exponent -= 1
        scale = max(exponent - self.fraction, least)
        return magnitude / Fraction(2) ** scale, scale

    def _assembled(self, whole: int, scale: int, mode: str, negative: bool, saturates: bool) -> int:
        biased = scale + self.fraction + self.bias
        found = whole + ((biased - 1) << self.fraction)  # a carry steps into the exponent
        if found <= self.largest:
            return found
        towards_zero = mode == "rz" or mode == ("rp" if negative else "rm")
        return self.largest if saturates or towards_zero else self._beyond()


def _nearest(steps: Fraction, negative: bool, random: Fraction) -> int:
    return round(steps)  # to even


def _away(steps: Fraction, negative: bool, random: Fraction) -> int:
    return math.floor(steps + Fraction(1, 2))


_ROUNDINGS: dict[str, Callable[[Fraction, bool, Fraction], int]] = {
    "rn": _nearest,
    "rna": _away,
    "rz": lambda steps, negative, random: math.floor(steps),
    "rm": lambda steps, negative, random: math.ceil(steps) if negative else math.floor(steps),
    "rp": lambda steps, negative, random: math.floor(steps) if negative else math.ceil(steps),
    "rs": lambda steps, negative, random: math.floor(steps + random),
}

FORMATS = {
    "f64": Format(11, 52, 0x7FF8000000000000),
    "f32": Format(8, 23, 0x7FFFFFFF),
    "tf32": Format(8, 10, 0x3FFFF),
    "f16": Format(5, 10, 0x7FFF),
    "bf16": Format(8, 7, 0x7FFF),
    "e5m2": Format(5, 2, 0x7F),
    "e4m3": Format(4, 3, 0x7F, has_infinity=False, top=0x7E),
    "e3m2": Format(3, 2, None, has_infinity=False, top=0x1F),
    "e2m3": Format(2, 3, None, has_infinity=False, top=0x1F),
    "e2m1": Format(2, 1, None, has_infinity=False, top=0x7),
    "ue5m3": Format(5, 3, 0xFF, has_infinity=False, is_signed=False, top=0xFE),
}


def scale_of(bits: int) -> Number:
    """Return the value of a ue8m0 scale."""
    return math.nan if bits == 0xFF else Fraction(2) ** (bits - 127)


def is_nan(number: Number) -> bool:
    """Say whether it is no number."""
    return isinstance(number, float) and math.isnan(number)


def plus(a: Number, b: Number, mode: str = "rn") -> Number:
    """Add; opposite zeros give the zero of the rounding mode."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b if a + b or not a else (-0.0 if mode == "rm" else Fraction(0))
    if not any(isinstance(x, float) and not math.isfinite(x) for x in (a, b)):
        zeros = [x for x in (a, b) if isinstance(x, float)]  # negative zeros
        if len(zeros) == 2:
            return -0.0
        other = b if isinstance(a, float) else a
        return -0.0 if not other and mode == "rm" else other
    if is_nan(a) or is_nan(b) or (isinstance(a, float) and a == -b and math.isinf(a)):
        return math.nan
    return a if isinstance(a, float) and math.isinf(a) else b


def times(a: Number, b: Number) -> Number:
    """Multiply."""
    if is_nan(a) or is_nan(b):
        return math.nan
    negative = (math.copysign(1, a) < 0) != (math.copysign(1, b) < 0)
    if any(isinstance(x, float) and math.isinf(x) for x in (a, b)):
        return math.nan if not a or not b else -math.inf if negative else math.inf
    if not a or not b:
        return -0.0 if negative else Fraction(0)
    return Fraction(a) * Fraction(b)


def minus(a: Number) -> Number:
    """Change the sign."""
    if isinstance(a, float):
        return Fraction(0) if a == 0 else -a
    return -a if a else -0.0
