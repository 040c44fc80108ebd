# SPDX-License-Identifier: Apache-2.0
"""What the frameworks call the element types of `pyptx.types`, and how wide elements are.

The facts are the extension's (isa/common/types.toml). This file imports no framework and converts
no data. A framework's dtype is identified by its spelling ("torch.bfloat16", "bfloat16", "bool"),
which torch, JAX and NumPy share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyptx import _core

_ROWS = _core.element_types()
_BITS = {name: bits for name, bits, _, _ in _ROWS}
_FRAMEWORK_TO_PTX = {framework: name for name, _, framework, _ in _ROWS if framework}
_STORED = {name: stored for name, _, _, stored in _ROWS if stored}
_PTX_TO_FRAMEWORK = {
    name: framework
    for name, stored in _STORED.items()
    for framework, ptx in _FRAMEWORK_TO_PTX.items()
    if ptx == stored
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
    return _STORED.get(ptx, ptx)


def element_bits(ptx: str) -> int:
    """Bits of one element of the named type in memory, 0 for a name that is no type."""
    return _BITS.get(ptx, 0)


def nbytes(ptx: str, shape: Sequence[int]) -> int:
    """Bytes of a tensor of such elements; a last byte that is used in part counts."""
    return (math.prod(shape) * element_bits(ptx) + 7) // 8
