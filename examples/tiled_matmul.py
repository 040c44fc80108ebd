# SPDX-License-Identifier: Apache-2.0
"""C = A @ B in f32 by tiles in shared memory, the kernel that every course has.

    python examples/tiled_matmul.py [--ptx]

One CTA of 256 threads computes a 32 x 32 tile of C. For every 32 columns of A and rows of B all
threads copy the two tiles into shared memory, wait for each other, multiply from there, and wait
again, because the next tiles go into the same memory. So an element is read from global memory once
for 32 products. A thread has four elements of a column of C: each element of B that it reads from
shared memory is used four times, and those of A are the same for all threads of a warp.

Any M, N and K will do: what lies outside the matrices is zero in the tiles, and is not stored.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

TILE = 32
WARPS = 8
STEPS = TILE // WARPS  # rows of a tile that each warp has


def element(pointer: Any, row: Any, column: Any, columns: int) -> Any:
    """Return the address of an f32 of a matrix with that many columns."""
    line = reg.scalar(u64)
    ptx.inst.mul.wide.u32(line, row, columns * 4)
    return ptx.addr(pointer + line + column * 4)


def load(pointer: Any, row: Any, column: Any, shape: tuple[int, int]) -> Any:
    """Load an element of a matrix of that shape, or zero where there is none."""
    value = reg.scalar(f32, init=0.0)
    inside = (row < shape[0]) & (column < shape[1])
    ptx.inst.ld.global_.f32(value, element(pointer, row, column, shape[1]), pred=inside)
    return value


def build_tiled_matmul(arch: str = "sm_80") -> Kernel:
    """Build C = A @ B for any M, N and K."""

    @kernel(
        in_specs=(Tile("M", "K", f32), Tile("K", "N", f32)),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N: (-(-N // TILE), -(-M // TILE), 1),
        block=(TILE * WARPS, 1, 1),
        arch=arch,
    )
    def tiled_matmul(A, B, C):
        (m, k), (_, n) = A.shape, B.shape
        pa, pb, pc = ptx.global_ptrs(A, B, C)
        tid = reg.from_(ptx.special.tid.x(), u32)
        warp, lane = tid >> 5, tid & 31
        column = reg.from_(ptx.special.ctaid.x(), u32) * TILE + lane
        row0 = reg.from_(ptx.special.ctaid.y(), u32) * TILE
        tile_a = smem.alloc(f32, (TILE, TILE), name="tile_a")
        tile_b = smem.alloc(f32, (TILE, TILE), name="tile_b")
        sums = reg.array(f32, STEPS)
        for total in sums:
            ptx.inst.mov.f32(total, 0.0)

        with ptx.range_(0, k, step=TILE) as k0:
            for row in (warp + step * WARPS for step in range(STEPS)):
                tile_a[row, lane] = load(pa, row0 + row, k0 + lane, (m, k))
                tile_b[row, lane] = load(pb, k0 + row, column, (k, n))
            ptx.bar.sync(0)  # the tiles are there
            for i in range(TILE):
                b = tile_b[i, lane]
                for step, total in enumerate(sums):
                    ptx.inst.fma.rn.f32(total, tile_a[warp + step * WARPS, i], b, total)
            ptx.bar.sync(0)  # and have been read

        for step, total in enumerate(sums):
            row = row0 + warp + step * WARPS
            inside = (row < m) & (column < n)
            ptx.inst.st.global_.f32(element(pc, row, column, n), total, pred=inside)
        ptx.ret()

    return tiled_matmul


def main() -> None:
    """Multiply matrices of several shapes, on a GPU or on the emulator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptx", action="store_true", help="print the PTX first")
    options = parser.parse_args()
    import torch

    matmul = build_tiled_matmul()
    if options.ptx:
        print(matmul.ptx(M=128, N=128, K=128))
    on_gpu = torch.cuda.is_available()
    device, where = ("cuda", torch.cuda.get_device_name()) if on_gpu else ("cpu", "emulator")
    shapes = [(64, 64, 64), (33, 70, 45), (1, 1, 1)]
    if on_gpu:
        shapes += [(1024, 1024, 1024), (1000, 300, 500)]
    for m, n, k in shapes:
        a, b = torch.randn(m, k), torch.randn(k, n)
        c = matmul(a.to(device), b.to(device)).cpu().numpy()
        expected = a.double().numpy() @ b.double().numpy()
        error = float(np.abs(c - expected).max() / np.abs(expected).max())
        print(f"tiled_matmul {m}x{n}x{k} ({where}): largest error against float64 {error:.2e}")
        if not error < 1e-5:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
