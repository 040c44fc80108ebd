# SPDX-License-Identifier: Apache-2.0
"""Kernels that several tests run. Each is small, and each has an obvious NumPy counterpart."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "hopper"))

from rms_norm import build_rms_norm as build_rms_norm


def build_vector_add(**options: Any) -> Any:
    """Z = X + Y for any N: symbolic dimension, template parameter, callable grid, a tail."""

    @kernel(
        in_specs=(Tile("N", f32), Tile("N", f32)),
        out_specs=(Tile("N", f32),),
        grid=lambda N, BLOCK: ((N + BLOCK - 1) // BLOCK,),
        block=(128, 1, 1),
        **options,
    )
    def vector_add(X, Y, Z, *, BLOCK=128):
        px, py, pz = ptx.global_ptrs(X, Y, Z)
        block = reg.from_(ptx.special.ctaid.x(), u32)
        index = block * BLOCK + reg.from_(ptx.special.tid.x(), u32)
        inside = index < X.shape[0]
        with ptx.if_(inside):
            offset = index * 4
            a = reg.scalar(f32)
            b = reg.scalar(f32)
            ptx.inst.ld.global_.f32(a, ptx.addr(px + offset))
            ptx.inst.ld.global_.f32(b, ptx.addr(py + offset))
            ptx.inst.add.f32(a, a, b)
            ptx.inst.st.global_.f32(ptx.addr(pz + offset), a)
        ptx.ret()

    return vector_add


def scaled_copy(x: Any, y: Any, factor: float) -> None:
    """Trace y = factor * x, one element a thread."""
    px, py = ptx.global_ptrs(x, y)
    offset = reg.from_(ptx.special.tid.x(), u32) * 4
    value = reg.scalar(f32)
    by = reg.scalar(f32, init=factor)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
    ptx.inst.mul.f32(value, value, by)
    ptx.inst.st.global_.f32(ptx.addr(py + offset), value)
    ptx.ret()


def build_scale(factor: float, **options: Any) -> Any:
    """Y = factor * X for 32 elements; the factor is a captured value."""

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1), **options)
    def scale(X, Y):
        scaled_copy(X, Y, factor)

    return scale


def build_my_forward(M: int, N: int) -> Any:
    """out[m, n] = x[m, n] * w[n]."""

    @kernel(
        in_specs=(Tile(M, N, f32), Tile(N, f32)),
        out_specs=(Tile(M, N, f32),),
        grid=(M, 1, 1),
        block=(N, 1, 1),
    )
    def scale_rows(X, W, Y):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        column = reg.from_(ptx.special.tid.x(), u32) * 4
        row = reg.from_(ptx.special.ctaid.x(), u32) * (N * 4)
        x = reg.scalar(f32)
        w = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + row + column))
        ptx.inst.ld.global_.f32(w, ptx.addr(pw + column))
        ptx.inst.mul.f32(x, x, w)
        ptx.inst.st.global_.f32(ptx.addr(py + row + column), x)
        ptx.ret()

    return scale_rows


def build_my_backward(M: int, N: int) -> Any:
    """(x, w, g) -> (g * w, the sum over rows of g * x), one thread per column."""

    @kernel(
        in_specs=(Tile(M, N, f32), Tile(N, f32), Tile(M, N, f32)),
        out_specs=(Tile(M, N, f32), Tile(N, f32)),
        block=(N, 1, 1),
    )
    def scale_rows_backward(X, W, G, DX, DW):
        px, pw, pg, pdx, pdw = ptx.global_ptrs(X, W, G, DX, DW)
        column = reg.from_(ptx.special.tid.x(), u32) * 4
        total = reg.scalar(f32, init=0.0)
        x = reg.scalar(f32)
        w = reg.scalar(f32)
        g = reg.scalar(f32)
        d = reg.scalar(f32)
        ptx.inst.ld.global_.f32(w, ptx.addr(pw + column))
        for m in range(M):
            offset = column + m * N * 4
            ptx.inst.ld.global_.f32(x, ptx.addr(px + offset))
            ptx.inst.ld.global_.f32(g, ptx.addr(pg + offset))
            ptx.inst.fma.rn.f32(total, g, x, total)
            ptx.inst.mul.f32(d, g, w)
            ptx.inst.st.global_.f32(ptx.addr(pdx + offset), d)
        ptx.inst.st.global_.f32(ptx.addr(pdw + column), total)
        ptx.ret()

    return scale_rows_backward
