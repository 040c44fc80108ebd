# SPDX-License-Identifier: Apache-2.0
"""Blackwell GEMM: C = A @ B^T, bf16 in, f32 out, by TMA, mbarriers and tcgen05, 1 or 2 CTAs.

    python examples/blackwell/gemm.py [--ptx]

A is (M, K) and B is (N, K), both row-major, as in torch.nn.functional.linear. With one CTA a tile
of C is 128 x 128. With a pair, a cluster of two whose TensorCores work as one, it is 256 x 256:
each CTA holds 128 rows of A, 128 rows of B and 128 rows of the sum, so both variants fill the same
shared memory, and the pair makes twice as much of each byte.

In each CTA one thread copies 128 x 64 tiles of A and B into a ring of stages; in the leader, the
CTA of rank 0, one thread multiplies them into tensor memory. `full[s]` of the leader says that
stage s holds data in every CTA; `empty[s]` of each CTA says that its stage s has been read, `done`
that the sum is complete. Then every thread moves one row from tensor memory to C. Any M, N and any
K divisible by 8 will do: TMA fills what lies outside the matrices with zeros, and the epilogue
stores only what lies inside.

The tensor maps reach the kernel in either form, `tma="pointer"` or `tma="value"`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

ROWS = 128  # of A, of B and of C in one CTA: one row for every thread and lane of tensor memory
BK = 64
STAGES = 4
THREADS = 128
STAGE_BYTES = 2 * ROWS * BK * 2
CHUNK = 32  # columns that the epilogue moves at once


class TileRing:
    """The stages and barriers of one CTA, and the two sides that use them."""

    def __init__(self, ctas: int) -> None:
        self.ctas = ctas
        self.a = smem.alloc(bf16, (STAGES, ROWS, BK), swizzle="128B", name="tile_a")
        self.b = smem.alloc(bf16, (STAGES, ROWS, BK), swizzle="128B", name="tile_b")
        self.full = smem.mbarrier(STAGES, name="full")
        self.empty = smem.mbarrier(STAGES, name="empty")
        self.done = smem.mbarrier(1, name="done")[0]

    def init(self) -> None:
        """Initialise the barriers; one thread does, before all threads synchronise."""
        self.full.init_all(1)  # the leader's producer, for the copies of every CTA
        self.empty.init_all(1)  # a commit
        self.done.init(1)

    def produce(self, k_tiles: int, rank: Any, load: Any) -> None:
        """Fill stages: `load(stage, column, barrier)` starts the copies of one stage."""
        full = self.full
        if self.ctas == 2:  # both CTAs report to the leader
            full = ptx.mbarrier.array(ptx.cluster.map_shared_u32(self.full[0], 0), 0, STAGES)
        # Nothing has been filled yet: waiting for parity 1, the phase before the first, is
        # satisfied at once.
        ring = ptx.pipeline(STAGES, phase=1)
        with ptx.range_(0, k_tiles) as tile:
            ptx.mbarrier.wait(self.empty[ring.stage], ring.phase)
            # The other CTA's bytes may arrive before they are expected: the phase still lacks its
            # arrival, so it cannot end.
            is_leader = None if self.ctas == 1 else rank == 0
            ptx.mbarrier.arrive_expect_tx(
                self.full[ring.stage], self.ctas * STAGE_BYTES, pred=is_leader
            )
            load(ring.stage, tile * BK, full[ring.stage])
            ring.advance()

    def multiply(self, k_tiles: int, sum_: Any) -> None:
        """Multiply the stages as they fill, into tensor memory; one thread of the leader does."""
        tc = ptx.tcgen05
        size = ROWS * self.ctas
        idesc = tc.make_instr_desc_f16bf16_f32(m=size, n=size, cta_group=self.ctas)
        ring = ptx.pipeline(STAGES)
        with ptx.range_(0, k_tiles) as tile:
            is_later = tile != 0  # the first product overwrites the sum
            ptx.mbarrier.wait(self.full[ring.stage], ring.phase)
            for k in range(0, BK, 16):
                tc.mma(
                    sum_,
                    self.a[ring.stage],
                    self.b[ring.stage],
                    idesc,
                    cta_group=self.ctas,
                    kind="f16",
                    enable_input_d=True if k else is_later,
                    a_k_offset=k,
                    b_k_offset=k,
                )
            self.commit(self.empty[ring.stage])
            ring.advance()
        self.commit(self.done)  # the last to arrive: who waits for it need not wait for the others

    def commit(self, barrier: Any) -> None:
        """Arrive on this barrier of every CTA when all products so far are complete."""
        if self.ctas == 1:
            ptx.tcgen05.commit(barrier)
        else:
            ptx.tcgen05.commit(barrier, cta_group=2, multicast=True, multicast_mask=0b11)


def synchronise(ctas: int) -> None:
    """Wait for all threads of the CTA or the pair.

    No tcgen05.fence stands here: it orders asynchronous operations, and allocating and freeing are
    none; the loads before the last one are complete (tcgen05.wait).
    """
    if ctas == 1:
        ptx.bar.sync(0)
    else:
        ptx.cluster.sync()


def store_rows(sum_: Any, pc: Any, tid: Any, origin: tuple[Any, Any], shape: Any) -> None:
    """Store this thread's row of the sum; C's tile begins at `origin`, `shape` is that of C.

    Warp w may read lanes 32 w to 32 w + 31 of tensor memory, and each of its threads has one.
    """
    (row0, col0), (m, n, width) = origin, shape
    row = row0 + tid
    source = sum_ + ((tid >> 5) << 21)  # the lane is the upper half of an address
    start = reg.scalar(u64)
    ptx.inst.mul.wide.u32(start, row, n * 4)
    line = pc + start + col0 * 4
    with ptx.range_(0, width, CHUNK) as shift:
        values = reg.array(f32, CHUNK)
        ptx.tcgen05.ld(values, source + shift, shape="32x32b", count=CHUNK)
        ptx.tcgen05.wait_ld()
        with ptx.if_(row < m):
            store_chunk(values.regs(), line + shift * 4, col0 + shift, (n, width))


def store_chunk(values: list[Any], place: Any, column: Any, shape: tuple[int, int]) -> None:
    """Store neighbours from `column` on as far as they lie inside, four at once where n allows."""
    n, width = shape
    vector = 4 if n % 4 == 0 else 1
    for first in range(0, CHUNK, vector):
        inside = None if n % width == 0 else column + first < n
        at = ptx.addr(place, 4 * first)
        if vector == 4:
            ptx.inst.st.global_.v4.f32(at, values[first : first + 4], pred=inside)
        else:
            ptx.inst.st.global_.f32(at, values[first], pred=inside)


def build_gemm(*, ctas: int = 1, tma: str = "value", arch: str = "sm_100a") -> Kernel:
    """Build the kernel C = A @ B^T for any M, N and K (K a multiple of 8), for 1 or 2 CTAs."""
    if ctas not in (1, 2):
        raise ValueError(f"one CTA or a pair multiplies, not {ctas}")
    width = ROWS * ctas  # of a tile of C, and the columns of tensor memory it needs

    @kernel(
        in_specs=(
            Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(ROWS, BK)),
            Tile("N", "K", bf16, Layout.TMA_128B, tma_box=(ROWS, BK)),
        ),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N: (-(-M // width) * ctas, -(-N // width), 1),
        block=(THREADS, 1, 1),
        cluster=(ctas, 1, 1),
        arch=arch,
        tma=tma,
    )
    def gemm(A, B, C):
        (m, k), (n, _) = A.shape, B.shape
        k_tiles = -(-k // BK)
        map_a, map_b = A.tma_desc(), B.tma_desc()
        (pc,) = ptx.global_ptrs(C)
        tid = reg.from_(ptx.special.tid.x(), u32)
        rank = ptx.cluster.rank()
        row0 = reg.from_(ptx.special.ctaid.x(), u32) * ROWS
        col0 = reg.from_(ptx.special.ctaid.y(), u32) * width
        ring = TileRing(ctas)
        slot = smem.alloc(u32, (1,), name="slot")
        with ptx.if_(tid == 0):
            ring.init()
        if ctas == 2:
            ptx.cluster.sync()  # a pair allocates together, so both must be running
        with ptx.if_(tid < 32):  # one whole warp allocates, and the same one frees
            ptx.tcgen05.alloc(slot, width, cta_group=ctas)
            ptx.tcgen05.relinquish_alloc_permit(cta_group=ctas)
        synchronise(ctas)
        sum_ = smem.load(u32, slot.address())

        def load(stage, column, bar):
            copy = ptx.cp.async_.bulk.tensor_2d
            row_b = col0 + rank * ROWS
            at = {"mbar": bar, "cta_group": ctas}
            copy(dst=ring.a[stage], src=map_a, coord=(column, row0), **at)
            copy(dst=ring.b[stage], src=map_b, coord=(column, row_b), **at)

        with ptx.if_(tid == 0):
            ring.produce(k_tiles, rank, load)
        with ptx.if_((tid == 32) & (rank == 0)):
            ring.multiply(k_tiles, sum_)
        ptx.bar.sync(0)  # the threads of a warp read tensor memory together
        ptx.mbarrier.wait(ring.done, 0)
        ptx.tcgen05.fence_after_thread_sync()
        store_rows(sum_, pc, tid, (row0, col0), (m, n, width))
        synchronise(ctas)  # both CTAs have read their rows, and no barrier is needed any more
        with ptx.if_(tid < 32):
            ptx.tcgen05.dealloc(sum_, width, cta_group=ctas)
        ptx.ret()

    return gemm


def reference(a: Any, b: Any) -> Any:
    """Compute the same in float64."""
    return a.double() @ b.double().T


def main() -> None:
    """Multiply matrices of several shapes with one CTA and with pairs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptx", action="store_true", help="print the PTX first")
    options = parser.parse_args()
    import torch

    if options.ptx:
        for ctas in (1, 2):
            print(build_gemm(ctas=ctas).ptx(M=256, N=256, K=256))
    on_gpu = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == 10
    device, where = ("cuda", torch.cuda.get_device_name()) if on_gpu else ("cpu", "emulator")
    shapes = [(128, 128, 64), (256, 256, 512), (100, 72, 40), (130, 129, 200), (1, 1, 8)]
    if on_gpu:
        shapes += [(2048, 2048, 2048), (1000, 3000, 520)]
    for ctas in (1, 2):
        for m, n, k in shapes:
            a, b = (torch.randn(rows, k).to(device, torch.bfloat16) for rows in (m, n))
            c = build_gemm(ctas=ctas)(a, b)
            expected = reference(a, b)
            error = float((c - expected).abs().max() / expected.abs().max())
            name = f"gemm {m}x{n}x{k}, {ctas} CTA ({where})"
            print(f"{name}: largest error against float64 {error:.2e}")
            if not error < 1e-4:
                raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
