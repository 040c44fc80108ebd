# SPDX-License-Identifier: Apache-2.0
"""Kernels that several tests run. Each is small, and each has an obvious NumPy counterpart."""

from __future__ import annotations

import sys
from typing import Any

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32
from support.tree import ROOT

sys.path.insert(0, str(ROOT / "examples" / "hopper"))

from rms_norm import build_rms_norm as build_rms_norm
from rms_norm import build_rms_norm_backward as build_rms_norm_backward


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


def build_row_scale(factor: float = 1.0, columns: int = 32, **options: Any) -> Any:
    """Y = factor * X * W, W along the rows of X: any number of rows, one CTA each."""

    @kernel(
        in_specs=(Tile("B", columns, f32), Tile(columns, f32)),
        out_specs=(Tile("B", columns, f32),),
        grid=lambda B: (B,),
        block=(columns, 1, 1),
        **options,
    )
    def row_scale(X, W, Y):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        column = reg.from_(ptx.special.tid.x(), u32)
        offset = (reg.from_(ptx.special.ctaid.x(), u32) * columns + column) * 4
        value, weight = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
        ptx.inst.ld.global_.f32(weight, ptx.addr(pw + column * 4))
        ptx.inst.mul.f32(value, value, weight)
        ptx.inst.mul.f32(value, value, reg.scalar(f32, init=factor))
        ptx.inst.st.global_.f32(ptx.addr(py + offset), value)
        ptx.ret()

    return row_scale


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


@kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1))
def doubled(X, Y):
    """Y = 2 * X; a kernel of a module, that other processes find by its name."""
    scaled_copy(X, Y, 2.0)


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


def build_tma_axpy(factor: float = 2.0, tma: str = "pointer") -> Any:
    """Z = factor * X + Y with every tensor behind a TMA descriptor, 8 x 32 elements a CTA.

    M is free; rows of N elements must be a multiple of 16 bytes. Copies cut what is outside.
    """
    rows, columns = 8, 32
    tile = Tile("M", "N", f32, tma_box=(rows, columns))

    @kernel(
        in_specs=(tile, tile),
        out_specs=(tile,),
        grid=lambda M, N: (-(-N // columns), -(-M // rows)),
        block=(columns, 1, 1),
        tma=tma,
    )
    def tma_axpy(X, Y, Z):
        bulk = ptx.cp.async_.bulk
        x = smem.alloc(f32, (rows, columns))
        y = smem.alloc(f32, (rows, columns))
        bar = smem.mbarrier(1)
        thread = reg.from_(ptx.special.tid.x(), u32)
        column = reg.from_(ptx.special.ctaid.x(), u32) * columns
        row = reg.from_(ptx.special.ctaid.y(), u32) * rows
        map_x, map_y, map_z = X.tma_desc(), Y.tma_desc(), Z.tma_desc()
        with ptx.if_(thread == 0):
            ptx.mbarrier.init(bar[0], 1)
            ptx.fence.mbarrier_init()
            ptx.mbarrier.arrive_expect_tx(bar[0], 2 * rows * columns * 4)
            bulk.tensor_2d(dst=x, src=map_x, coord=(column, row), mbar=bar[0])
            bulk.tensor_2d(dst=y, src=map_y, coord=(column, row), mbar=bar[0])
        ptx.bar.sync(0)
        ptx.mbarrier.wait(bar[0], 0)
        by = reg.scalar(f32, init=factor)
        for r in range(rows):
            value = x[r, thread]
            ptx.inst.fma.rn.f32(value, value, by, y[r, thread])
            x[r, thread] = value
        ptx.fence.proxy_async()
        ptx.bar.sync(0)
        with ptx.if_(thread == 0):
            bulk.tensor.store_2d(dst=map_z, src=x, coord=(column, row))
            bulk.commit_group()
            bulk.wait_group(0)
        ptx.ret()

    return tma_axpy
