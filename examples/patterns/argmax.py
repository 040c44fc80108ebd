# SPDX-License-Identifier: Apache-2.0
"""The place of the largest element of each row, the first one where several are equal.

    python examples/patterns/argmax.py

A number and its place are packed into 64 bits whose order as an unsigned integer is the one wanted:
the bits of the number, turned so that they order as numbers do, above the complement of the place.
What is left is a maximum, of threads, of a warp, and of the warps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem, testing
from pyptx.types import f32, s32, s64, u32, u64


def packed(value: Any, place: Any) -> Any:
    """Return an element's order among all as 64 bits."""
    bits, sign, key = reg.scalar(u32), reg.scalar(s32), reg.scalar(u64)
    ptx.inst.mov.b32(bits, value)
    ptx.inst.shr.s32(sign, bits, 31)
    return ptx.inst.mov.b64(key, [~place, bits ^ (reg.from_(sign, u32) | 0x80000000)])


@kernel(
    in_specs=(Tile("M", "N", f32),),
    out_specs=(Tile("M", s64),),
    grid=lambda M: (M, 1, 1),
    block=(128, 1, 1),
    arch="sm_80",
)
def argmax(X, Y):
    """Y[m] is the first n with the largest X[m, n]."""
    _, columns = X.shape
    of_warps = smem.alloc(u64, (4,))
    row, thread = ptx.ctaid_x(), reg.from_(ptx.special.tid.x(), u32)
    best = reg.scalar(u64, init=0)
    with ptx.range_(thread, columns, 128) as n:
        value = ptx.ld(f32, reg.scalar(f32), ptx.at(X, row, n))
        ptx.inst.max.u64(best, best, packed(value, n))
    ptx.warp.reduce_max(best)
    with ptx.if_((thread & 31) == 0):
        of_warps[thread >> 5] = best
    ptx.bar.sync()
    with ptx.if_(thread == 0):
        for warp in range(1, 4):
            ptx.inst.max.u64(best, best, of_warps[warp])
        ptx.st(s64, ptx.at(Y, row), ~best & 0xFFFFFFFF)
    ptx.ret()


def reference(x: np.ndarray) -> np.ndarray:
    """Compute the same."""
    return x.argmax(axis=1)


def main() -> None:
    """Look for the largest elements, wherever this machine can."""
    sizes = {"M": [1, 3], "N": [1, 127, 300]}
    inputs = ["normal", "equal", "descending", "infinities", "extreme", "subnormal"]
    cases = testing.check(argmax, reference, inputs, shapes=sizes, schedules=20)
    print(f"argmax: {cases} cases are right against float64")


if __name__ == "__main__":
    main()
