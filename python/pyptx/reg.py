# SPDX-License-Identifier: Apache-2.0
"""Registers of the kernel being traced, and the operators on them.

`a + b`, `a * 4`, `a << 2`, `a < n` and their like emit one instruction each (and a conversion where
a narrower integer is widened); the type decides which. `a += b` writes the same register.
"""

from __future__ import annotations

from pyptx import _core
from pyptx._core import NegPred, PipeRef, Reg, RegArray

scalar = _core.reg.scalar
array = _core.reg.array
from_ = _core.reg.from_
alloc = _core.reg.alloc
alloc_array = _core.reg.alloc_array
wgmma_frag = _core.reg.wgmma_frag

__all__ = [
    "NegPred",
    "PipeRef",
    "Reg",
    "RegArray",
    "alloc",
    "alloc_array",
    "array",
    "from_",
    "scalar",
    "wgmma_frag",
]
