# SPDX-License-Identifier: Apache-2.0
"""Grouped GEMM: rows of X are cut into groups, and each group has its own weight matrix.

    python examples/hopper/grouped_gemm.py

X is (T, K), its rows sorted by group; `offsets` holds the first row of every group and T at the
end, so groups may have any size, also none. W is (G, N, K). Row t of group g gives
Y[t] = W[g] @ X[t], as in a mixture-of-experts layer. The main loop is that of gemm.py; W is read
through a three-dimensional tensor map.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from gemm import (
    BK,
    BM,
    BN,
    THREADS,
    TileRing,
    check,
    multiply_and_store,
    relative_error,
    to_bf16,
)

from pyptx import Layout, Tile, kernel, ptx, reg
from pyptx.types import bf16, f32, s32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def build_grouped_gemm(G: int, *, tma: str = "value") -> Kernel:
    """Build the kernel for G groups and any T, N and K (K a multiple of 8)."""

    @kernel(
        in_specs=(
            Tile("T", "K", bf16, Layout.TMA_128B, tma_box=(BM, BK)),
            Tile(G, "N", "K", bf16, Layout.TMA_128B, tma_box=(1, BN, BK)),
            Tile(G + 1, s32),
        ),
        out_specs=(Tile("T", "N", f32),),
        # A group of t rows needs ceil(t / BM) tiles; the largest group may hold all rows.
        grid=lambda T, N: (-(-N // BN), -(-T // BM), G),
        block=(THREADS, 1, 1),
        arch="sm_90a",
        tma=tma,
    )
    def grouped_gemm(X, W, Offsets, Y):
        (_, k), (_, n, _) = X.shape, W.shape
        k_tiles = -(-k // BK)
        map_x, map_w = X.tma_desc(), W.tma_desc()
        po, py = ptx.global_ptrs(Offsets, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        group = reg.from_(ptx.special.ctaid.z(), u32)
        begin, end = reg.scalar(u32), reg.scalar(u32)
        ends = po + group * 4
        ptx.inst.ld.global_.u32(begin, ptx.addr(ends))
        ptx.inst.ld.global_.u32(end, ptx.addr(ends, 4))
        row0 = begin + reg.from_(ptx.special.ctaid.y(), u32) * BM
        col0 = reg.from_(ptx.special.ctaid.x(), u32) * BN
        # The whole CTA leaves together, before any barrier.
        ptx.ret(pred=row0 >= end)
        ring = TileRing()
        ring.init(tid)

        with ptx.if_(tid < 128):
            with ptx.if_(tid == 0):

                def load(stage, column):
                    bar = ring.full[stage]
                    bulk = ptx.cp.async_.bulk
                    bulk.tensor_2d(dst=ring.a[stage], src=map_x, coord=(column, row0), mbar=bar)
                    bulk.tensor_3d(
                        dst=ring.b[stage], src=map_w, coord=(column, col0, group), mbar=bar
                    )

                ring.produce(k_tiles, load)
        with ptx.else_():
            # Rows past the group's end were copied and multiplied, but belong to the next group.
            multiply_and_store(ring, k_tiles, tid, py, (row0, col0), (end, n))
        ptx.ret()

    return grouped_gemm


def reference(x: np.ndarray, w: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    y = np.zeros((x.shape[0], w.shape[1]))
    for g, (begin, end) in enumerate(pairwise(offsets)):
        y[begin:end] = x[begin:end].astype(np.float64) @ w[g].astype(np.float64).T
    return y


def main() -> None:
    """Multiply groups of several sizes, empty ones among them."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    where = torch.cuda.get_device_name() if device == "cuda" else "emulator"
    rng = np.random.default_rng()
    cases = [((128, 128), 128, 64), ((5, 0, 130, 1), 72, 136), ((0, 200), 129, 72)]
    if device == "cuda":
        cases += [((1000, 24, 0, 3000, 513), 2048, 1024)]
    for sizes, n, k in cases:
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        x = to_bf16(rng.standard_normal((int(offsets[-1]), k)))
        w = to_bf16(rng.standard_normal((len(sizes), n, k)))
        tx, tw = (torch.from_numpy(v).to(device, torch.bfloat16) for v in (x, w))
        grouped_gemm = build_grouped_gemm(len(sizes))
        y = grouped_gemm(tx, tw, torch.from_numpy(offsets).to(device)).cpu().numpy()
        check(f"grouped_gemm {sizes}x{n}x{k}", where, relative_error(y, reference(x, w, offsets)))


if __name__ == "__main__":
    main()
