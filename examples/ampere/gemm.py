# SPDX-License-Identifier: Apache-2.0
"""Ampere GEMM: C = A @ B^T, bf16 in, f32 out, by cp.async, ldmatrix and mma.sync.

    python examples/ampere/gemm.py [--ptx]

A is (M, K) and B is (N, K), both row-major, as in torch.nn.functional.linear. One CTA of eight
warps computes a 128 x 128 tile, each warp 64 x 32 of it. All threads copy 128 x 32 tiles of A and B
into a ring of shared-memory stages, three tiles ahead of the one that is multiplied. Any M, N and
any K divisible by 8 will do: a copy that lies outside the matrices has no source bytes and fills
its 16 bytes with zeros, and the epilogue stores only what lies inside.

A row of a tile is 64 bytes, four chunks of 16. Row r has chunk c at place c ^ (r / 2 % 4), the
64-byte swizzle, so that the eight rows that ldmatrix reads at once, and the chunks that eight
threads write at once, lie in different banks.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b32, bf16, f32, s32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

BM, BN, BK = 128, 128, 32
STAGES = 4  # a power of two: a tile's stage is the low bits of its number
WARPS_M, WARPS_N = 2, 4
WARP_M, WARP_N = BM // WARPS_M, BN // WARPS_N
THREADS = 32 * WARPS_M * WARPS_N
ROW_BYTES = BK * 2
CHUNK_BYTES = 16
TILE_BYTES = BM * ROW_BYTES
ROWS_AT_ONCE = THREADS * CHUNK_BYTES // ROW_BYTES  # rows that one copy of every thread fills
SWIZZLE = "64B"
TARGETS = ("sm_80", "sm_86", "sm_90a", "sm_120")


def multiply(d: list[Any], a: list[Any], b: list[Any]) -> None:
    """Multiply 16 x 16 of A by 16 x 8 of B^T and add it to the accumulator `d`."""
    ptx.mma.sync(
        shape=(16, 8, 16),
        dtype_d=f32,
        dtype_a=bf16,
        dtype_b=bf16,
        dtype_c=f32,
        d=d,
        a=a,
        b=b,
        c=d,
    )


def tile_offset(row: Any, chunk: Any) -> Any:
    """Return where a chunk of a row lies in its tile, in bytes."""
    return smem.apply_swizzle(row * ROW_BYTES + chunk * CHUNK_BYTES, SWIZZLE)


class Operand:
    """A or B: its tiles in shared memory, how they are copied there and how they are read."""

    def __init__(self, name: str, pointer: Any, shape: tuple[int, int], row0: Any) -> None:
        self.rows, self.columns = shape
        self.base = smem.alloc(bf16, (STAGES, BM, BK), swizzle=SWIZZLE, name=name).address()
        # Four neighbouring threads copy one row; each copies one chunk of it, then that of a row
        # further down, whose place in the swizzle is the same.
        tid = reg.from_(ptx.special.tid.x(), u32)
        row, chunk = tid >> 2, tid & 3
        self.row = row0 + row
        self.column = chunk * (CHUNK_BYTES // 2)
        self.target = self.base + tile_offset(row, chunk)
        start = reg.scalar(u64)
        ptx.inst.mul.wide.u32(start, self.row, self.columns * 2)
        self.source = pointer + start + self.column * 2

    def copy(self, tile: Any) -> None:
        """Start the copies of tile number `tile` along K, a number or a register."""
        target = self.target + (tile & (STAGES - 1)) * TILE_BYTES
        source = self.source + tile * ROW_BYTES
        for down in range(0, BM, ROWS_AT_ONCE):
            ptx.cp.async_.cg(
                ptx.addr(target, down * ROW_BYTES),
                ptx.addr(source, down * self.columns * 2),
                CHUNK_BYTES,
                src_bytes=self.source_bytes(tile, down),
            )

    def source_bytes(self, tile: Any, down: int) -> Any:
        """How many bytes a copy may read: 16, or 0 outside; None where it is always inside."""
        size = None
        if self.rows % BM:
            size = reg.scalar(u32)
            # Signed, for a matrix of fewer rows than `down`.
            inside = reg.from_(self.row, s32) < self.rows - down
            ptx.selp(u32, size, CHUNK_BYTES, 0, inside)
        if self.columns % BK:
            guarded = reg.scalar(u32)
            inside = self.column + tile * BK < self.columns
            ptx.selp(u32, guarded, CHUNK_BYTES if size is None else size, 0, inside)
            size = guarded
        return size

    def read(self, tile: Any, offset: Any, step: int, blocks: int) -> list[Any]:
        """Read `blocks` times 16 rows of 16 columns: four registers each.

        Sixteen columns are two chunks, so step 1 changes bit 1 of the chunk: that of the swizzled
        offset just as well.
        """
        place = self.base + (tile & (STAGES - 1)) * TILE_BYTES + (offset ^ (32 * step))
        fragments = []
        for block in range(blocks):
            registers = reg.array(b32, 4)
            ptx.ldmatrix(dst=registers, src=ptx.addr(place, 16 * block * ROW_BYTES))
            fragments.append(registers.regs())
        return fragments


def lane_of_a(lane: Any) -> tuple[Any, Any]:
    """Return the row and the chunk that `lane` names: rows 0-7 and 8-15 of chunk 0, then of 1."""
    return lane & 15, lane >> 4


def lane_of_b(lane: Any) -> tuple[Any, Any]:
    """Return the same for B: both chunks of rows 0-7, then of 8-15.

    So the first two registers are one fragment of mma, for eight columns of C, and the last two
    the next.
    """
    return (lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1


def main_loop(a: Operand, b: Operand, warp: Any, lane: Any) -> list[list[list[Any]]]:
    """Copy ahead and multiply; the accumulators of this warp, by 16 rows and 8 columns."""
    acc = [[reg.array(f32, 4).regs() for _ in range(WARP_N // 8)] for _ in range(WARP_M // 16)]
    for value in (r for row in acc for registers in row for r in registers):
        ptx.inst.mov.f32(value, 0.0)
    row, chunk = lane_of_a(lane)
    from_a = tile_offset((warp >> 2) * WARP_M + row, chunk)
    row, chunk = lane_of_b(lane)
    from_b = tile_offset((warp & 3) * WARP_N + row, chunk)
    k_tiles = -(-a.columns // BK)
    for early in range(STAGES - 1):
        if early < k_tiles:
            a.copy(early)
            b.copy(early)
        ptx.cp.async_.commit_group()
    with ptx.range_(0, k_tiles) as tile:
        # One group a tile, empty past the end: all but the last two are complete.
        ptx.cp.async_.wait_group(STAGES - 2)
        ptx.bar.sync(0)  # everybody's copies are there, and the stage before has been read
        ahead = tile + (STAGES - 1)
        with ptx.if_(ahead < k_tiles):
            a.copy(ahead)
            b.copy(ahead)
        ptx.cp.async_.commit_group()
        for step in range(BK // 16):
            rows = a.read(tile, from_a, step, WARP_M // 16)
            columns = b.read(tile, from_b, step, WARP_N // 16)
            for i, fragment in enumerate(rows):
                for j in range(WARP_N // 8):
                    first = 2 * (j % 2)
                    multiply(acc[i][j], fragment, columns[j // 2][first : first + 2])
    return acc


def store(acc: list[list[list[Any]]], pc: Any, row: Any, column: Any, shape: Any) -> None:
    """Store the accumulators; (row, column) is where this thread's first element belongs."""
    m, n = shape
    for i, by_column in enumerate(acc):
        for half in range(2):  # registers 2 and 3 lie eight rows below registers 0 and 1
            at_row = row + (16 * i + 8 * half)
            with ptx.if_(at_row < m):
                start = reg.scalar(u64)
                ptx.inst.mul.wide.u32(start, at_row, n * 4)
                line = pc + start + column * 4
                for j, registers in enumerate(by_column):
                    pair = registers[2 * half : 2 * half + 2]
                    store_pair(pair, line, column, 8 * j, n)


def store_pair(pair: list[Any], line: Any, column: Any, shift: int, n: int) -> None:
    """Store two neighbours at `column + shift`, as far as they lie inside."""

    def inside(shift: int) -> Any:
        """Guard column + shift < n; return None where it always holds."""
        return None if n % BN == 0 else column + shift < n

    if n % 2 == 0:  # the pair is aligned, and inside or outside together
        place = ptx.addr(line, 4 * shift)
        ptx.inst.st.global_.v2.f32(place, pair, pred=inside(shift))
        return
    for at, value in enumerate(pair, shift):
        ptx.inst.st.global_.f32(ptx.addr(line, 4 * at), value, pred=inside(at))


def build_gemm(arch: str = "sm_80") -> Kernel:
    """Build the kernel C = A @ B^T for any M, N and K (K a multiple of 8)."""

    @kernel(
        in_specs=(Tile("M", "K", bf16), Tile("N", "K", bf16)),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N: (-(-N // BN), -(-M // BM), 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def gemm(A, B, C):
        (m, k), (n, _) = A.shape, B.shape
        if k % 8:
            raise ValueError(f"K is a multiple of 8, whose 16 bytes are one copy, not {k}")
        pa, pb, pc = ptx.global_ptrs(A, B, C)
        row0 = reg.from_(ptx.special.ctaid.y(), u32) * BM
        col0 = reg.from_(ptx.special.ctaid.x(), u32) * BN
        tid = reg.from_(ptx.special.tid.x(), u32)
        warp, lane = tid >> 5, tid & 31
        a = Operand("tile_a", pa, (m, k), row0)
        b = Operand("tile_b", pb, (n, k), col0)
        acc = main_loop(a, b, warp, lane)
        row = row0 + (warp >> 2) * WARP_M + (lane >> 2)
        column = col0 + (warp & 3) * WARP_N + (lane & 3) * 2
        store(acc, pc, row, column, (m, n))
        ptx.ret()

    return gemm


def reference(a: Any, b: Any) -> Any:
    """Compute the same in float64."""
    return a.double() @ b.double().T


def main() -> None:
    """Multiply matrices of several shapes, on a GPU or on the emulator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptx", action="store_true", help="print the PTX first")
    options = parser.parse_args()
    import torch

    gemm = build_gemm()
    if options.ptx:
        print(gemm.ptx(M=256, N=256, K=256))
    on_gpu = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    device, where = ("cuda", torch.cuda.get_device_name()) if on_gpu else ("cpu", "emulator")
    shapes = [(128, 128, 32), (256, 128, 512), (100, 72, 40), (130, 129, 200), (1, 1, 8)]
    if on_gpu:
        shapes += [(2048, 2048, 2048), (1000, 3000, 520)]
    for m, n, k in shapes:
        a, b = (torch.randn(rows, k).to(device, torch.bfloat16) for rows in (m, n))
        c = gemm(a, b)
        expected = reference(a, b)
        error = float((c - expected).abs().max() / expected.abs().max())
        print(f"gemm {m}x{n}x{k} ({where}): largest error against float64 {error:.2e}")
        if not error < 1e-4:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
