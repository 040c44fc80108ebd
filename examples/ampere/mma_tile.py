# SPDX-License-Identifier: Apache-2.0
"""One warp, one 16 x 16 tile of C = A @ B^T: how ldmatrix and mma.sync fit together.

    python examples/ampere/mma_tile.py [--ptx]

A is (M, K) and B is (N, K), bf16, all multiples of 16. For every 16 columns each lane copies 16
bytes of A and of B into shared memory, a row of 32 bytes by two lanes. ldmatrix reads from there
what mma.sync takes: the lanes name the rows of four 8 x 8 matrices, and every lane gets two
neighbours of a row of each. The rows are stored with the 32-byte swizzle, so that the eight rows
that are read at once lie in different banks.

It is here to be read. `gemm.py` beside it gives a warp 64 x 32, and copies ahead.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b32, bf16, f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

EDGE = 16  # of a tile, each way
ROW_BYTES = EDGE * 2


def place(base: Any, row: Any, half: Any) -> Any:
    """Return the address of half a row of a tile in shared memory."""
    return ptx.addr(base + smem.apply_swizzle(row * ROW_BYTES + half * 16, "32B"))


class Operand:
    """A or B: where this lane's 16 bytes come from, the tile, and the fragment read from it."""

    def __init__(self, name: str, pointer: Any, first_row: Any, columns: int, lane: Any) -> None:
        self.base = smem.alloc(bf16, (EDGE, EDGE), swizzle="32B", name=name).address()
        row, half = lane >> 1, lane & 1
        line = reg.scalar(u64)
        ptx.inst.mul.wide.u32(line, first_row + row, columns * 2)
        self.source = pointer + line + half * 16
        self.target = place(self.base, row, half)
        self.fragment = reg.array(b32, 4)

    def copy(self) -> None:
        """Copy the next tile."""
        chunk = reg.array(b32, 4)
        ptx.inst.ld.global_.v4.b32(chunk, ptx.addr(self.source))
        ptx.inst.st.shared.v4.b32(self.target, chunk)
        self.source += ROW_BYTES

    def read(self, row: Any, half: Any) -> None:
        """Read the fragment; lanes 8i to 8i + 7 name the rows of the i-th 8 x 8 matrix."""
        ptx.ldmatrix(dst=self.fragment, src=place(self.base, row, half))


def build_mma_tile(arch: str = "sm_80") -> Kernel:
    """Build C = A @ B^T for M, N and K that are multiples of 16."""

    @kernel(
        in_specs=(Tile("M", "K", bf16), Tile("N", "K", bf16)),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N: (N // EDGE, M // EDGE, 1),
        block=(32, 1, 1),
        multiple_of={"M": EDGE, "N": EDGE, "K": EDGE},
        arch=arch,
    )
    def mma_tile(A, B, C):
        (_, k), (n, _) = A.shape, B.shape
        pa, pb, pc = ptx.global_ptrs(A, B, C)
        lane = reg.from_(ptx.special.tid.x(), u32)
        row0 = reg.from_(ptx.special.ctaid.y(), u32) * EDGE
        col0 = reg.from_(ptx.special.ctaid.x(), u32) * EDGE
        a = Operand("tile_a", pa, row0, k, lane)
        b = Operand("tile_b", pb, col0, k, lane)
        sums = [reg.array(f32, 4) for _ in range(2)]  # 16 x 8 of C each
        for value in (*sums[0], *sums[1]):
            ptx.inst.mov.f32(value, 0.0)

        with ptx.range_(0, k // EDGE):
            a.copy()
            b.copy()
            ptx.inst.bar.warp.sync(-1)
            # A's matrices: rows 0-7 and 8-15 of the left half, then of the right one. B's: both
            # halves of rows 0-7, then of 8-15, so that two registers are a fragment of mma.
            a.read(lane & 15, lane >> 4)
            b.read((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1)
            for i, d in enumerate(sums):
                ptx.mma.sync(
                    shape=(16, 8, 16),
                    dtype_d=f32,
                    dtype_a=bf16,
                    dtype_b=bf16,
                    dtype_c=f32,
                    d=d,
                    a=a.fragment,
                    b=b.fragment[2 * i : 2 * i + 2],
                    c=d,
                )
            ptx.inst.bar.warp.sync(-1)

        # Lane l has columns 2 * (l % 4) and the next of rows l / 4 and 8 below.
        for i, d in enumerate(sums):
            for half in range(2):
                line = reg.scalar(u64)
                ptx.inst.mul.wide.u32(line, row0 + (lane >> 2) + 8 * half, n * 4)
                at = pc + line + (col0 + (lane & 3) * 2 + 8 * i) * 4
                ptx.inst.st.global_.v2.f32(ptx.addr(at), [d[2 * half], d[2 * half + 1]])
        ptx.ret()

    return mma_tile


def main() -> None:
    """Multiply matrices of several shapes, on a GPU or on the emulator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptx", action="store_true", help="print the PTX first")
    options = parser.parse_args()
    import torch

    mma_tile = build_mma_tile()
    if options.ptx:
        print(mma_tile.ptx(M=64, N=64, K=64))
    on_gpu = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    device, where = ("cuda", torch.cuda.get_device_name()) if on_gpu else ("cpu", "emulator")
    for m, n, k in [(16, 16, 16), (32, 48, 64)]:
        a, b = (torch.randn(rows, k).to(device, torch.bfloat16) for rows in (m, n))
        c = mma_tile(a, b)
        expected = a.double() @ b.double().T
        error = float((c - expected).abs().max() / expected.abs().max())
        print(f"mma_tile {m}x{n}x{k} ({where}): largest error against float64 {error:.2e}")
        if not error < 1e-4:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
