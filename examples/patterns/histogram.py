# SPDX-License-Identifier: Apache-2.0
"""Histograms of bytes, one of each row: a cluster of four CTAs counts a row in shared memory.

    python examples/patterns/histogram.py

Atomics on shared memory are cheap, and bins of its own spare a CTA those of the others. When all
have counted, each CTA adds up a quarter of the bins, which it reads in the memory of all four.
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem, testing
from pyptx.types import u8, u32


@kernel(
    in_specs=(Tile("M", "N", u8),),
    out_specs=(Tile("M", 256, u32),),
    grid=lambda M: (4, M, 1),
    block=(256, 1, 1),
    cluster=(4, 1, 1),
)
def histogram(X, Y):
    """Y[m, b] is how often b is in X[m]."""
    _, columns = X.shape
    bins, thread = smem.alloc(u32, (256,)), reg.from_(ptx.special.tid.x(), u32)
    rank, row = ptx.cluster.rank(), ptx.ctaid_y()
    bins[thread] = 0
    ptx.bar.sync()
    with ptx.range_(rank * 256 + thread, columns, 1024) as n:
        value = reg.scalar(u32)
        ptx.inst.ld.global_.u8(value, ptx.at(X, row, n))
        ptx.inst.red.shared.add.u32(ptx.addr(bins.address() + value * 4), 1)
    ptx.cluster.sync()
    with ptx.if_(thread < 64):
        bin, total = rank * 64 + thread, reg.scalar(u32, init=0)
        for cta in range(4):
            there = ptx.cluster.map_shared_u32(bins.address() + bin * 4, cta)
            total += ptx.ld(u32, reg.scalar(u32), ptx.addr(there), space="shared::cluster")
        ptx.st(u32, ptx.at(Y, row, bin), total)
    ptx.cluster.sync()
    ptx.ret()


def reference(x: np.ndarray) -> np.ndarray:
    """Compute the same."""
    return np.array([np.bincount(row, minlength=256) for row in x])


def main() -> None:
    """Count bytes, wherever this machine can."""
    sizes = {"M": [1, 3], "N": [1, 1025]}
    inputs = ["normal", "extreme", "equal"]
    cases = testing.check(histogram, reference, inputs, shapes=sizes, schedules=20)
    print(f"histogram: {cases} cases are right, to the last count")


if __name__ == "__main__":
    main()
