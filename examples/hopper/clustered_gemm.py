# SPDX-License-Identifier: Apache-2.0
"""Hopper GEMM with clusters: C = A @ B^T, where two CTAs share every tile of B by multicast.

    python examples/hopper/clustered_gemm.py [--ptx]

The tiles, the warp roles and the ring are those of gemm.py. Two CTAs, one below the other in C,
form a cluster: they need the same 128 x 64 tiles of B. Each loads 64 rows of them and multicasts
these into the shared memory of both, so B crosses the memory system once instead of twice. A stage
may be filled anew only when the consumers of both CTAs have read it: every warp arrives on `empty`
of both. Warpgroup 0 hands its registers to the warpgroups that multiply (setmaxnreg).

It shows how a cluster works together, and is slower than gemm.py. One cost is plain in its SASS: an
arrival on the barrier of another CTA releases at the scope of the cluster, which is a fence of all
memory for every tile of K. `Ring.releaser` of `pyptx.kernels.gemm_ring` says why none is needed.

Any M, N and any K divisible by 8 will do. Where C has an odd number of rows of tiles, the last CTA
has none of its own, and still loads its half of B for its neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gemm import BK, BM, BN, CONSUMERS, THREADS, TileRing, compare, multiply_and_store

from pyptx import Layout, Tile, kernel, ptx, reg
from pyptx.types import bf16, f32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

CTAS = 2  # in a cluster, along M
EVERY_CTA = (1 << CTAS) - 1
SHARE = BN // CTAS  # rows of a tile of B that each CTA loads
# A thread starts with 168 of the 65536 registers; 128 * 40 + 256 * 232 are no more.
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232


class ClusterRing(TileRing):
    """A ring whose stages are filled by all CTAs of the cluster."""

    def init(self, tid: Any) -> None:
        """One thread initialises the barriers; afterwards the whole cluster may use them."""
        with ptx.if_(tid == 0):
            self.full.init_all(1)
            self.empty.init_all(4 * CONSUMERS * CTAS)  # one arrival per warp of the cluster
            ptx.fence.mbarrier_init()
        # The fence tells what was initialised, and there is nothing else to tell: relaxed.
        ptx.inst.barrier.cluster.arrive.relaxed.aligned()
        ptx.inst.barrier.cluster.wait.acquire.aligned()

    def release(self, stage: Any, lane: Any) -> None:
        """Say to both CTAs that this warp has read a stage: lane r to the CTA of rank r."""
        ptx.mbarrier.arrive_remote(self.empty[stage], lane, pred=lane < CTAS)


def build_clustered_gemm(*, tma: str = "value") -> Kernel:
    """Build the kernel C = A @ B^T for any M, N and K (K a multiple of 8)."""

    @kernel(
        in_specs=(
            Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(BM, BK)),
            Tile("N", "K", bf16, Layout.TMA_128B, tma_box=(SHARE, BK)),
        ),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N: (-(-M // (BM * CTAS)) * CTAS, -(-N // BN), 1),
        block=(THREADS, 1, 1),
        cluster=(CTAS, 1, 1),
        reqntid=(THREADS,),  # setmaxnreg wants the registers of a thread to be known
        arch="sm_90a",
        tma=tma,
    )
    def clustered_gemm(A, B, C):
        (m, k), (n, _) = A.shape, B.shape
        k_tiles = -(-k // BK)
        map_a, map_b = A.tma_desc(), B.tma_desc()
        (pc,) = ptx.global_ptrs(C)
        tid = reg.from_(ptx.special.tid.x(), u32)
        row0 = reg.from_(ptx.special.ctaid.x(), u32) * BM
        col0 = reg.from_(ptx.special.ctaid.y(), u32) * BN
        share = ptx.cluster.rank() * SHARE
        ring = ClusterRing()
        ring.init(tid)

        with ptx.if_(tid < 128):
            ptx.setmaxnreg_dec(PRODUCER_REGISTERS)
            with ptx.if_(tid == 0):

                def load(stage, column):
                    bar = ring.full[stage]
                    copy = ptx.cp.async_.bulk.tensor_2d
                    copy(dst=ring.a[stage], src=map_a, coord=(column, row0), mbar=bar)
                    # The same place and the same barrier in every CTA of the mask.
                    copy(
                        dst=ptx.addr(ring.b[stage].address() + share * (BK * 2)),
                        src=map_b,
                        coord=(column, col0 + share),
                        mbar=bar,
                        multicast_mask=EVERY_CTA,
                    )

                ring.produce(k_tiles, load)
        with ptx.else_():
            ptx.setmaxnreg_inc(CONSUMER_REGISTERS)
            multiply_and_store(ring, k_tiles, tid, pc, (row0, col0), (m, n))
        # A CTA must not end while its neighbour still copies into it or arrives on its barriers.
        ptx.cluster.sync()
        ptx.ret()

    return clustered_gemm


def main() -> None:
    """Multiply matrices of several shapes with both descriptor forms."""
    shapes = [(256, 128, 64), (256, 128, 512), (100, 72, 40), (300, 129, 200), (1, 1, 8)]
    compare("clustered_gemm", __doc__, build_clustered_gemm, shapes)


if __name__ == "__main__":
    main()
