# SPDX-License-Identifier: Apache-2.0
"""Hopper GEMM: C = A @ B^T, bf16 in, f32 out, by TMA, mbarriers and wgmma.

    python examples/hopper/gemm.py [--ptx]

A is (M, K) and B is (N, K), both row-major, as in torch.nn.functional.linear. One CTA computes a
128 x 128 tile. Warpgroup 0 is the producer: one thread copies 128 x 64 tiles of A and B into a ring
of shared-memory stages. Warpgroups 1 and 2 multiply, 64 rows each. `full[s]` says that stage s
holds data, `empty[s]` that both consumers have read it. Any M, N and any K divisible by 8 will do:
TMA fills what lies outside the matrices with zeros, and the epilogue stores only what lies inside.

It is here to be read: it waits for every product before it releases a stage, and stores from
registers. `pyptx.kernels.matmul` is the one to use.

The tensor maps reach the kernel in either form: `tma="pointer"`, a pointer to a descriptor in
device memory, or `tma="value"`, the descriptor itself in the parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

BM, BN, BK = 128, 128, 64
STAGES = 4
CONSUMERS = 2
THREADS = 128 * (1 + CONSUMERS)
STAGE_BYTES = (BM + BN) * BK * 2


class TileRing:
    """The ring of stages in shared memory, and the two sides that use it."""

    def __init__(self) -> None:
        self.a = smem.alloc(bf16, (STAGES, CONSUMERS, 64, BK), swizzle="128B", name="tile_a")
        self.b = smem.alloc(bf16, (STAGES, BN, BK), swizzle="128B", name="tile_b")
        self.full = smem.mbarrier(STAGES, name="full")
        self.empty = smem.mbarrier(STAGES, name="empty")

    def init(self, tid: Any) -> None:
        """One thread initialises the barriers; afterwards everybody may use them."""
        with ptx.if_(tid == 0):
            for stage in range(STAGES):
                ptx.mbarrier.init(self.full[stage], 1)
                ptx.mbarrier.init(self.empty[stage], 4 * CONSUMERS)  # one arrival per warp
        # Copies reach an mbarrier as threads do, by the generic proxy: no fence is needed.
        ptx.bar.sync(0)

    def produce(self, k_tiles: int, load: Any) -> None:
        """Fill stages: `load(stage, column)` starts the copies of one stage."""
        # The first wait on `empty` must not block: nothing has been filled yet. Waiting for the
        # phase before the first, parity 1, is satisfied at once.
        ring = ptx.pipeline(STAGES, phase=1)
        with ptx.range_(0, k_tiles) as tile:
            ptx.mbarrier.wait(self.empty[ring.stage], ring.phase)
            ptx.mbarrier.arrive_expect_tx(self.full[ring.stage], STAGE_BYTES)
            load(ring.stage, tile * BK)
            ring.advance()

    def consume(self, k_tiles: int, consumer: Any, lane: Any) -> Any:
        """Multiply the stages as they fill; the accumulator fragment of this warpgroup."""
        acc = reg.wgmma_frag(m=64, n=BN, dtype=f32)
        ring = ptx.pipeline(STAGES)
        with ptx.range_(0, k_tiles) as tile:
            is_later = tile != 0  # the first product overwrites the accumulator
            ptx.mbarrier.wait(self.full[ring.stage], ring.phase)
            ptx.wgmma.fence()
            for k in range(0, BK, 16):
                ptx.wgmma.mma_async(
                    shape=(64, BN, 16),
                    dtype_d=f32,
                    dtype_a=bf16,
                    dtype_b=bf16,
                    d=acc,
                    a=self.a[ring.stage, consumer],
                    b=self.b[ring.stage],
                    scale_d=True if k else is_later,
                    a_k_offset=k,
                    b_k_offset=k,
                )
            ptx.wgmma.commit_group()
            ptx.wgmma.wait_group(0)
            self.release(ring.stage, lane)
            ring.advance()
        return acc

    def release(self, stage: Any, lane: Any) -> None:
        """Say that this warp has read a stage."""
        ptx.mbarrier.arrive(self.empty[stage], pred=lane == 0)


def store_fragment(acc: Any, pc: Any, row: Any, column: Any, rows: Any, n: int) -> None:
    """Store a 64 x BN fragment whose first element of this thread is (row, column) of C.

    Rows from `rows` on and columns from `n` on are outside and are left alone.
    """

    def inside(shift: int) -> Any:
        """Guard column + shift < n; return None where it always holds."""
        return None if n % BN == 0 else column < n - shift

    for half in range(2):  # registers 2, 3 of every four lie eight rows below registers 0, 1
        at_row = row + 8 * half
        with ptx.if_(at_row < rows):
            start = reg.scalar(u64)
            ptx.inst.mul.wide.u32(start, at_row, n * 4)
            line = pc + start + column * 4
            for shift in range(0, min(BN, n), 8):
                first, second = acc[shift // 2 + 2 * half], acc[shift // 2 + 2 * half + 1]
                place = ptx.addr(line, 4 * shift)
                if n % 2 == 0:  # the pair is aligned, and inside or outside together
                    ptx.inst.st.global_.v2.f32(place, [first, second], pred=inside(shift))
                    continue
                ptx.inst.st.global_.f32(place, first, pred=inside(shift))
                if shift + 1 < n:
                    place = ptx.addr(line, 4 * shift + 4)
                    ptx.inst.st.global_.f32(place, second, pred=inside(shift + 1))


def multiply_and_store(
    ring: TileRing, k_tiles: int, tid: Any, pc: Any, origin: tuple[Any, Any], end: tuple[Any, int]
) -> None:
    """Multiply and store the 64 rows of a consumer warpgroup; the tile begins at `origin`."""
    consumer = (tid >> 7) - 1
    lane = tid & 31
    acc = ring.consume(k_tiles, consumer, lane)
    row = origin[0] + consumer * 64 + ((tid >> 5) & 3) * 16 + (lane >> 2)
    column = origin[1] + (lane & 3) * 2
    store_fragment(acc, pc, row, column, *end)


def build_gemm(*, tma: str = "value") -> Kernel:
    """Build the kernel C = A @ B^T for any M, N and K (K a multiple of 8)."""

    @kernel(
        in_specs=(
            Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(BM, BK)),
            Tile("N", "K", bf16, Layout.TMA_128B, tma_box=(BN, BK)),
        ),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N: (-(-N // BN), -(-M // BM), 1),
        block=(THREADS, 1, 1),
        arch="sm_90a",
        tma=tma,
    )
    def gemm(A, B, C):
        (m, k), (n, _) = A.shape, B.shape
        k_tiles = -(-k // BK)
        map_a, map_b = A.tma_desc(), B.tma_desc()
        (pc,) = ptx.global_ptrs(C)
        tid = reg.from_(ptx.special.tid.x(), u32)
        row0 = reg.from_(ptx.special.ctaid.y(), u32) * BM
        col0 = reg.from_(ptx.special.ctaid.x(), u32) * BN
        ring = TileRing()
        ring.init(tid)

        with ptx.if_(tid < 128):
            with ptx.if_(tid == 0):

                def load(stage, column):
                    bar = ring.full[stage]
                    bulk = ptx.cp.async_.bulk
                    bulk.tensor_2d(dst=ring.a[stage], src=map_a, coord=(column, row0), mbar=bar)
                    bulk.tensor_2d(dst=ring.b[stage], src=map_b, coord=(column, col0), mbar=bar)

                ring.produce(k_tiles, load)
        with ptx.else_():
            multiply_and_store(ring, k_tiles, tid, pc, (row0, col0), (m, n))
        ptx.ret()

    return gemm


def to_bf16(values: np.ndarray) -> np.ndarray:
    """Round `values` to float32 values that bf16 can hold (to nearest, ties to even)."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def relative_error(c: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference over the largest expected value."""
    return float(np.abs(c - expected).max() / max(np.abs(expected).max(), 1e-30))


def check(name: str, where: str, error: float) -> None:
    """Print the error; f32 accumulation of bf16 products stays far below 1e-4."""
    print(f"{name} ({where}): largest error against float64 {error:.2e}")
    if not error < 1e-4:
        raise SystemExit("the result is wrong")


def compare(
    name: str, about: str, build: Callable[..., Any], shapes: list[tuple[int, int, int]]
) -> None:
    """Multiply matrices of these shapes, and large ones on a GPU, with both descriptor forms."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--ptx", action="store_true", help="print the PTX first")
    options = parser.parse_args()
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    where = torch.cuda.get_device_name() if device == "cuda" else "emulator"
    if options.ptx:
        print(build().ptx(M=256, N=256, K=256))
    rng = np.random.default_rng()
    large = [(2048, 2048, 2048), (1000, 3000, 520)] if device == "cuda" else []
    for tma in ("value", "pointer"):
        gemm = build(tma=tma)
        for m, n, k in shapes + large:
            a, b = (to_bf16(rng.standard_normal((rows, k))) for rows in (m, n))
            ta, tb = (torch.from_numpy(x).to(device, torch.bfloat16) for x in (a, b))
            c = gemm(ta, tb).cpu().numpy()
            error = relative_error(c, a.astype(np.float64) @ b.astype(np.float64).T)
            check(f"{name} {m}x{n}x{k}, map by {tma}", where, error)


def main() -> None:
    """Multiply matrices of several shapes with both descriptor forms."""
    shapes = [(128, 128, 64), (256, 128, 512), (100, 72, 40), (130, 129, 200), (1, 1, 8)]
    compare("gemm", __doc__, build_gemm, shapes)


if __name__ == "__main__":
    main()
