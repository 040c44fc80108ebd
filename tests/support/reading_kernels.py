# SPDX-License-Identifier: Apache-2.0
"""Kernels that write what a function reads, and calls of them before and after it changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32
from support.packages import need


def make(read: Any) -> Any:
    """Return a kernel that writes read() to its output."""

    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), grid=(1, 1, 1), block=(1, 1, 1))
    def write(X, Y):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f32(ptx.addr(py), reg.scalar(f32, init=float(read())))
        ptx.ret()

    return write


def check_changes(read: Any, change: Any, arrays: str = "numpy") -> None:
    """Call, change what `read` returns, call: each call must give what `read` says then."""
    x: Any = np.zeros(1, np.float32)
    if arrays == "torch":
        x = need("torch").zeros(1)
    k = make(read)
    for _ in range(3):
        assert float(k(x)[0]) == float(read())
    before = float(read())
    change()
    assert float(read()) != before
    for _ in range(3):
        assert float(k(x)[0]) == float(read())


class Base:
    NUMBER = 1.0

    @property
    def doubled(self) -> float:
        return self.NUMBER * 2
