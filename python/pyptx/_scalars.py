# SPDX-License-Identifier: Apache-2.0
"""Raw parameters: the types that they can have, and a value as the bits that are passed.

A number given for a float type is that number, rounded to the nearest (ties to even), however it
is written; for other types it is an integer that fits.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

from pyptx._dtypes import element_bits
from pyptx._errors import LaunchError

_FORMATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
# Floats that PTX has no parameters of: the upper bits of an f32, and how many are significant.
_CUT_F32 = {"bf16": 8, "tf32": 11}
_LEAST_F32 = -125  # the exponent, as of math.frexp, of the least normal f32

PARAMETER_TYPES = (
    *(f"{letter}{bits}" for letter in "bus" for bits in (8, 16, 32, 64)),
    *_FORMATS,
    *_CUT_F32,
)


def declared_type(kind: str) -> str:
    """Return the type that PTX declares such a parameter with."""
    return f"b{element_bits(kind)}" if kind in _CUT_F32 else kind


def scalar_bits(kernel: str, kind: str, name: str, raw: Mapping[str, Any]) -> int:
    """Return the bits of a parameter's value; refuses what the type cannot hold."""
    if name not in raw:
        raise TypeError(
            f"kernel {kernel!r} needs a value for the raw parameter {name!r} (.{kind}): "
            f"no dimension or template parameter has that name; pass {name}=..."
        )
    value, bits = raw[name], element_bits(kind)
    problem = f"kernel {kernel!r}: raw parameter {name!r} (.{kind}) cannot hold {value!r}"
    if kind in _FORMATS or kind in _CUT_F32:
        try:
            return _float_bits(kind, float(value))
        except (TypeError, ValueError, OverflowError):
            raise LaunchError(problem) from None
    number = int(value.__index__()) if hasattr(value, "__index__") else None
    low = -(1 << (bits - 1)) if kind[0] == "s" else 0
    high = (1 << bits - (kind[0] == "s")) - 1
    if number is None or not low <= number <= high:
        raise LaunchError(problem)
    return number & ((1 << bits) - 1)


def _float_bits(kind: str, value: float) -> int:
    significant = _CUT_F32.get(kind)
    if significant is None:
        return int.from_bytes(struct.pack(_FORMATS[kind], value), "little")
    if math.isfinite(value):
        # In one step: by way of f32 it would be rounded twice.
        unit = max(math.frexp(value)[1], _LEAST_F32) - significant
        value = math.copysign(math.ldexp(round(math.ldexp(value, -unit)), unit), value)
    upper = int.from_bytes(struct.pack("<f", value), "little")
    return upper >> 32 - element_bits(kind)
