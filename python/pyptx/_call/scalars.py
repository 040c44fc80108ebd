# SPDX-License-Identifier: Apache-2.0
"""Raw parameters: the types that they can have, and a value as the bits that are passed.

A number given for a float type is that number, rounded to the nearest (ties to even), however it
is written; for other types it is an integer that fits. What that means in bits is decided in
C++, once for every caller.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pyptx import _core
from pyptx._call.element_types import element_bits
from pyptx._call.refusals import refuse

PARAMETER_TYPES: tuple[str, ...] = _core.SCALAR_TYPES
_FLOATS = tuple(kind for kind in PARAMETER_TYPES if "f" in kind)
# Floats that PTX has no parameters of: the upper bits of an f32.
_CUT_F32 = ("bf16", "tf32")


def declared_type(kind: str) -> str:
    """Return the type that PTX declares such a parameter with."""
    return f"b{element_bits(kind)}" if kind in _CUT_F32 else kind


def scalar_bits(kernel: str, kind: str, name: str, raw: Mapping[str, Any]) -> int:
    """Return the bits of a parameter's value; refuses what the type cannot hold."""
    if name not in raw:
        refuse(
            "KeywordName",
            f"kernel {kernel!r}",
            f"needs a value for the raw parameter {name!r} (.{kind}): "
            f"no dimension or template parameter has that name; pass {name}=...",
        )
    value, bits = raw[name], None
    if is_traced_by_jax(value):
        refuse(
            "ArgumentKind",
            f"kernel {kernel!r}: raw parameter {name!r} (.{kind})",
            f"is traced by JAX, so that its value is not known while the program is made; "
            f"declare an input Tile({kind}), of rank 0, and pass the array there, or make the "
            f"number static in jax.jit",
        )
    if kind in _FLOATS:
        with suppress(TypeError, ValueError, OverflowError):
            bits = _core.scalar_bits(kind, float(value))
    elif hasattr(value, "__index__"):
        bits = _core.scalar_bits(kind, int(value.__index__()))
    if bits is None:
        refuse("ScalarValue", name, kernel, kind, repr(value))
    return bits


def is_traced_by_jax(value: Any) -> bool:
    """Whether a number is one that a program of JAX computes or gets."""
    core = getattr(sys.modules.get("jax"), "core", None)
    return core is not None and isinstance(value, core.Tracer)
