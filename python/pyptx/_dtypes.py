# SPDX-License-Identifier: Apache-2.0
"""What the frameworks call the element types of `pyptx.types`.

Names only: this file imports no framework and converts no data. A framework's dtype is identified
by its spelling ("torch.bfloat16", "bfloat16", "bool"), which torch, JAX and NumPy share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_FRAMEWORK_TO_PTX = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "int64": "s64",
    "int32": "s32",
    "int16": "s16",
    "int8": "s8",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "bool": "pred",
}
_PTX_TO_FRAMEWORK = {ptx: name for name, ptx in _FRAMEWORK_TO_PTX.items()} | {
    "tf32": "float32",
    "b8": "uint8",
    "b16": "uint16",
    "b32": "uint32",
    "b64": "uint64",
}
_BITS = {"pred": 8, "e4m3": 8, "e5m2": 8, "bf16": 16, "tf32": 32}
# What cuTensorMapEncodeTiled calls elements that it only moves.
_MAP_TYPE = {
    "pred": "u8",
    "e4m3": "u8",
    "e5m2": "u8",
    "s8": "u8",
    "b8": "u8",
    "s16": "u16",
    "b16": "u16",
    "b32": "u32",
    "b64": "u64",
}


def ptx_name(dtype: Any) -> str:
    """Return our name of a framework dtype or of a pyptx type, given itself or its name."""
    name = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
    return _FRAMEWORK_TO_PTX.get(name, name)


def framework_name(ptx: str) -> str | None:
    """Return what torch, JAX and NumPy call the type, or None where they have no such elements."""
    return _PTX_TO_FRAMEWORK.get(ptx)


def stored_name(ptx: str) -> str:
    """Return our name of the elements that a new array for such a type has."""
    name = framework_name(ptx)
    return ptx if name is None else _FRAMEWORK_TO_PTX[name]


def element_bits(ptx: str) -> int:
    """Bits of one element of the named type, 0 for a name without a width."""
    return _BITS.get(ptx) or int("".join(c for c in ptx if c.isdigit()) or 0)


def nbytes(ptx: str, shape: Sequence[int]) -> int:
    """Bytes of a tensor of such elements; a last byte that is used in part counts."""
    return (math.prod(shape) * element_bits(ptx) + 7) // 8


def map_type(ptx: str) -> str:
    """Return the element type a tensor map over such elements is made with."""
    return _MAP_TYPE.get(ptx, ptx)


def accepts(expected: str, got: str) -> bool:
    """Whether elements of type `got` may be passed where a spec says `expected`.

    Equal names do, `tf32` is stored as `f32`, and the untyped `bN` take any N-bit elements.
    """
    if expected == got or (expected == "tf32" and got == "f32"):
        return True
    if expected[:1] == "b" and expected[1:].isdigit():
        return element_bits(got) == int(expected[1:])
    return False
