# SPDX-License-Identifier: Apache-2.0
"""What the bodies in captured_kernels.py call: helpers of another module, with its globals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyptx import ptx, reg
from pyptx.types import f32, u32

THREADS = 128
BYTES = 4  # of an element


def for_each(X: Any, Y: Any, change: Callable[[Any], None]) -> None:
    """Load an element per thread, change it in place, store it."""
    px, py = ptx.global_ptrs(X, Y)
    index = reg.from_(ptx.special.ctaid.x(), u32) * THREADS
    index += ptx.special.tid.x()
    with ptx.if_(index < X.shape[0]):
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + index * BYTES))
        change(value)
        ptx.inst.st.global_.f32(ptx.addr(py + index * BYTES), value)
    ptx.ret()


def affine(value: Any, scale: float, shift: float) -> None:
    """Replace a value by scale * value + shift."""
    ptx.inst.fma.rn.f32(value, value, scale, shift)
