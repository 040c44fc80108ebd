# SPDX-License-Identifier: Apache-2.0
"""A product of rows and a weight, with a backward whose gradient of the weight is a sum of rows."""

from __future__ import annotations

from typing import Any

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32
from support.sample_kernels import build_row_scale

COLUMNS = 32


def build_weighted_backward() -> Any:
    """(x, w, g) -> (g * w, the sum over rows of g * x), a thread a column."""

    @kernel(
        in_specs=(Tile("B", COLUMNS, f32), Tile(COLUMNS, f32), Tile("B", COLUMNS, f32)),
        out_specs=(Tile("B", COLUMNS, f32), Tile(COLUMNS, f32, partial="B")),
        block=(COLUMNS, 1, 1),
        batch="B",
        arch="sm_90a",
    )
    def weighted_backward(X, W, G, DX, DW):
        px, pw, pg, pdx, pdw = ptx.global_ptrs(X, W, G, DX, DW)
        column = reg.from_(ptx.special.tid.x(), u32) * 4
        total = reg.scalar(f32, init=0.0)
        x, w, g = (reg.scalar(f32) for _ in range(3))
        ptx.inst.ld.global_.f32(w, ptx.addr(pw + column))
        with ptx.range_(0, X.shape[0]) as row:
            offset = column + row * (COLUMNS * 4)
            ptx.inst.ld.global_.f32(x, ptx.addr(px + offset))
            ptx.inst.ld.global_.f32(g, ptx.addr(pg + offset))
            ptx.inst.fma.rn.f32(total, g, x, total)
            ptx.inst.mul.f32(x, g, w)
            ptx.inst.st.global_.f32(ptx.addr(pdx + offset), x)
        ptx.inst.st.global_.f32(ptx.addr(pdw + column), total)
        ptx.ret()

    return weighted_backward


def build_weighted() -> Any:
    """y = x * w, w along the rows of x."""
    return build_row_scale(columns=COLUMNS, batch="B")
