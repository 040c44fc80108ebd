# SPDX-License-Identifier: Apache-2.0
"""Heat in rods, step by step until nothing moves: a loop at run time that is left early.

    python examples/patterns/stencil.py

Each CTA keeps a rod of 128 points in shared memory; its ends stay. A step replaces each point by
the mean of its neighbours. `steps` and `still` come with the launch, and a barrier that counts says
whether any point of the rod has moved by more than `still`.
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem, testing
from pyptx.types import f32, pred, u32

POINTS = 128


@kernel(
    in_specs=(Tile("M", POINTS, f32),),
    out_specs=(Tile("M", POINTS, f32), Tile("M", u32)),
    grid=lambda M: (M, 1, 1),
    block=(POINTS, 1, 1),
    raw_params=[("u32", "steps"), ("f32", "still")],
    arch="sm_80",
)
def stencil(X, Y, Steps):
    """Y are the rods when they are still, Steps how many steps that took."""
    steps, still = ptx.param(u32, "steps"), ptx.param(f32, "still")
    rod, n = smem.alloc(f32, (POINTS,)), reg.from_(ptx.special.tid.x(), u32)
    here = ptx.ld(f32, reg.scalar(f32), ptx.at(X, ptx.ctaid_x(), n))
    rod[n] = here
    done, moves = reg.scalar(u32, init=0), reg.scalar(pred)
    with ptx.while_(lambda: done < steps):
        ptx.bar.sync()
        after = reg.scalar(f32, init=here)
        with ptx.if_((n > 0) & (n < POINTS - 1)):
            after.set((rod[n - 1] + rod[n + 1]) * 0.5)
        ptx.inst.barrier.red.or_.pred(moves, 0, abs(after - here) > still)
        here.set(after)
        rod[n] = here
        done += 1
        ptx.break_(pred=~moves)
    ptx.st(f32, ptx.at(Y, ptx.ctaid_x(), n), here)
    ptx.st(u32, ptx.at(Steps, ptx.ctaid_x()), done, pred=n == 0)
    ptx.ret()


def reference(x: np.ndarray, *, steps: int, still: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute the same in f32, in which sums of two and halves are what the kernel has."""
    rods, taken = x.astype(np.float32), np.zeros(len(x), np.uint32)
    for m, rod in enumerate(rods):
        while True:
            before = rod.copy()
            rod[1:-1] = (before[:-2] + before[2:]) * np.float32(0.5)
            taken[m] += 1
            if not (np.abs(rod - before) > np.float32(still)).any() or taken[m] == steps:
                break
    return rods, taken


def main() -> None:
    """Let rods cool, wherever this machine can."""
    sizes = {"M": [1, 3], "steps": [1, 40], "still": [0.0, 0.25, 100.0]}
    cases = testing.check(stencil, reference, ["normal", "zeros"], shapes=sizes, schedules=20)
    print(f"stencil: {cases} cases are right against float64")


if __name__ == "__main__":
    main()
