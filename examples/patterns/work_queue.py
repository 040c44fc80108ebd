# SPDX-License-Identifier: Apache-2.0
"""Persistent warps that take work from a queue: sums of segments of very different lengths.

    python examples/patterns/work_queue.py

The grid is as large as the machine, whatever the number of segments. A warp takes the next one by
an atomic, so that long segments delay nobody. The last warp to leave sets the queue back for the
next launch.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pyptx import Tile, kernel, ptx, reg, testing
from pyptx.types import f32, s32, u32

WARPS = 8  # at once; a real machine takes some hundred


@kernel(
    in_specs=(Tile("N", f32), Tile("S1", s32)),
    out_specs=(Tile("S", f32),),
    grid=(WARPS, 1, 1),
    block=(32, 1, 1),
    arch="sm_80",
)
def work_queue(X, Offsets, Y):
    """Y[s] is the sum of X[Offsets[s]:Offsets[s + 1]]."""
    (segments,) = Y.shape
    taken, left = (ptx.var("global", u32, name) for name in ("taken", "left"))
    lane, segment, start, end = reg.from_(ptx.special.tid.x(), u32), *reg.array(u32, 3)

    def more():
        ptx.inst.atom.global_.add.u32(segment, taken, 1, pred=lane == 0)
        ptx.inst.shfl.sync.idx.b32(segment, segment, 0, 31, 0xFFFFFFFF)
        return segment < segments

    with ptx.while_(more):
        ptx.ld(u32, start, ptx.at(Offsets, segment))
        ptx.ld(u32, end, ptx.at(Offsets, segment + 1))
        total = reg.scalar(f32, init=0.0)
        with ptx.range_(start + lane, end, 32) as n:
            total += ptx.ld(f32, reg.scalar(f32), ptx.at(X, n))
        ptx.warp.reduce_sum(total)
        ptx.st(f32, ptx.at(Y, segment), total, pred=lane == 0)
    with ptx.if_(lane == 0):
        ptx.inst.atom.global_.inc.u32(segment, left, WARPS - 1)
        ptx.st(u32, taken, 0, pred=segment == WARPS - 1)
    ptx.ret()


def reference(x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Compute the same."""
    return np.array([x[a:b].sum() for a, b in pairwise(offsets)])


def segments(rng: np.random.Generator, N: int, S: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers, and where segments of any length begin and end."""
    cuts = np.sort(rng.integers(0, N, S - 1))
    return rng.standard_normal(N), np.array([0, *cuts, N])


def main() -> None:
    """Add up segments, wherever this machine can."""
    sizes = [{"N": 500, "S": s, "S1": s + 1} for s in (1, 7, 40)]
    cases = testing.check(work_queue, reference, segments, shapes=sizes, schedules=20)
    print(f"work_queue: {cases} cases are right against float64")


if __name__ == "__main__":
    main()
