# SPDX-License-Identifier: Apache-2.0
"""C = A @ B in f32 through shared memory, without a matrix unit: what bench/checks.py times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

SIDE = 16  # threads of a block in each direction


def copy_tile(source: Any, target: Any, columns: int, stride: int, rows: int, tid: Any) -> None:
    """Copy `rows` rows of `columns` elements; neighbouring threads take neighbouring elements."""
    value = reg.scalar(f32)
    down = SIDE * SIDE // columns  # rows that all threads copy at once
    row, column = tid >> (columns.bit_length() - 1), tid & (columns - 1)
    start = reg.scalar(u64)
    ptx.inst.mul.wide.u32(start, row * stride + column, 4)
    source = source + start
    target = target + tid * 4
    for first in range(0, rows, down):
        ptx.inst.ld.global_.f32(value, ptx.addr(source, first * stride * 4))
        ptx.inst.st.shared.f32(ptx.addr(target, first * columns * 4), value)


def build_sgemm(m: int, n: int, k: int, width: int) -> Kernel:
    """Build C = A @ B; a block of 16 x 16 threads, each with `width` x `width` elements of C.

    `width` is 1 or 4. A row of B's tile is read in vectors of `width`, that of A element by
    element.
    """
    tile, depth = SIDE * width, SIDE
    if m % tile or n % tile or k % depth:
        raise ValueError(f"{m}, {n} are multiples of {tile}, {k} of {depth}")

    @kernel(
        in_specs=(Tile(m, k, f32), Tile(k, n, f32)),
        out_specs=(Tile(m, n, f32),),
        grid=(n // tile, m // tile, 1),
        block=(SIDE * SIDE, 1, 1),
        arch="sm_80",
    )
    def sgemm(A, B, C):
        pa, pb, pc = ptx.global_ptrs(A, B, C)
        tile_a = smem.alloc(f32, (tile, depth), name="tile_a").address()
        tile_b = smem.alloc(f32, (depth, tile), name="tile_b").address()
        tid = reg.from_(ptx.special.tid.x(), u32)
        x, y = tid & (SIDE - 1), tid >> 4
        row0 = reg.from_(ptx.special.ctaid.y(), u32) * tile
        col0 = reg.from_(ptx.special.ctaid.x(), u32) * tile
        from_a, from_b = pa + row0 * (k * 4), pb + col0 * 4
        sums = [[reg.scalar(f32, init=0.0) for _ in range(width)] for _ in range(width)]
        a, b = (reg.array(f32, width).regs() for _ in range(2))
        row, column = tile_a + y * (width * depth * 4), tile_b + x * (width * 4)
        with ptx.range_(0, k // depth):
            copy_tile(from_a, tile_a, depth, k, tile, tid)
            copy_tile(from_b, tile_b, tile, n, depth, tid)
            ptx.bar.sync(0)
            for step in range(depth):
                for i, value in enumerate(a):
                    ptx.inst.ld.shared.f32(value, ptx.addr(row, (i * depth + step) * 4))
                if width == 1:
                    ptx.inst.ld.shared.f32(b[0], ptx.addr(column, step * tile * 4))
                else:
                    ptx.inst.ld.shared.v4.f32(b, ptx.addr(column, step * tile * 4))
                for i, line in enumerate(sums):
                    for j, total in enumerate(line):
                        ptx.inst.fma.rn.f32(total, a[i], b[j], total)
            ptx.bar.sync(0)
            from_a += depth * 4
            from_b += depth * n * 4
        start = reg.scalar(u64)
        ptx.inst.mul.wide.u32(start, (row0 + y * width) * n + col0 + x * width, 4)
        place = pc + start
        for i, line in enumerate(sums):
            for j, total in enumerate(line):
                ptx.inst.st.global_.f32(ptx.addr(place, (i * n + j) * 4), total)
        ptx.ret()

    return sgemm
