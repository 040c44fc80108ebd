# SPDX-License-Identifier: Apache-2.0
"""Blocks, expressions and elements write the same text in Python and in C++.

`tests/unit/author/blocks_test.cpp` holds C++ to the same golden, tests/files/both_surfaces.ptx.
"""

from __future__ import annotations

import os
from typing import Any

from pyptx import _core, ptx, reg
from pyptx.kernel import TensorSpec
from pyptx.specs import Layout
from pyptx.types import f32, s32, u32, u64
from support.tree import TESTS

GOLDEN = TESTS / "files" / "both_surfaces.ptx"


class Strided(TensorSpec):
    """A tensor whose rows lie apart."""

    def counted(self) -> Any:
        bits, sizes, _, is_column = super().counted() or (0, (), (), False)
        return bits, sizes, self.dtype_strides, is_column

    dtype_strides: tuple[Any, ...] = ()


def expressions(t: Any, s: Any, x: Any, wide: Any) -> None:
    t // 10
    t % 10
    s // -3
    s % 16
    s % s
    p = t < 5
    ptx.select(p, t, 7)
    ptx.select(~p, x, 0.5)
    ptx.mad(t, 3, t)
    ptx.mad(s, 4, wide)
    ptx.mad(x, x, 1.5)
    ptx.min(t, 3)
    ptx.max(1.0, x)
    abs(s)
    -x
    x / 3.0


def blocks(t: Any) -> None:
    i = reg.scalar(u32, 0)
    with ptx.while_(lambda: i < 10):
        ptx.continue_(i > 5)
        i += 1
        ptx.break_(i == 7)
    with ptx.if_(t == 0):
        i += 1
    with ptx.elif_(t == 1):
        i += 2
    with ptx.elif_(t == 2):
        i += 3
    with ptx.else_():
        i += 4
    for n in ptx.range_(0, t):
        ptx.continue_(n == 3)
        with ptx.if_(n > 4):
            ptx.break_()
    with ptx.loop("again", pred=i < 20):
        ptx.break_(i == 19)


def elements(t: Any, s: Any, n: Any) -> None:
    value = reg.scalar(f32)
    fixed = TensorSpec("X", (100000, 70000), f32)
    ptx.inst.ld.global_.f32(value, ptx.at(fixed, t, 3))
    ptx.inst.ld.global_.f32(value, ptx.at(fixed, s, t))
    ptx.inst.ld.global_.f32(value, ptx.at(fixed, 2, 1))
    fixed.ptr(1)
    TensorSpec("X", (n, n), f32).ptr(t, s)
    rows = Strided("X", (64, 64), f32)
    rows.dtype_strides = (n, 1)
    rows.ptr(t, 5)
    TensorSpec("X", (64, 32), f32, Layout.COL).ptr(t, s)


def test_python_writes_the_golden() -> None:
    trace = _core.Trace("both", "sm_90a")
    trace.add_tensor("X")
    trace.enter()
    try:
        t, s, x, wide = reg.scalar(u32), reg.scalar(s32), reg.scalar(f32), reg.scalar(u64)
        expressions(t, s, x, wide)
        blocks(t)
        elements(t, s, t)
        ptx.ret()
        text = trace.finish().text
    finally:
        trace.leave()
    if "PYPTX_UPDATE_GOLDENS" in os.environ:
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
