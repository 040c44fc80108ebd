# SPDX-License-Identifier: Apache-2.0
"""Each row sorted in shared memory by one CTA: a bitonic network over a power of two.

    python examples/patterns/bitonic_sort.py

What is short of a power of two is filled with infinities, which end up behind the row. Each step
compares pairs that lie `distance` apart; `size` is the length of the runs that are sorted so far.
"""

from __future__ import annotations

import math

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem, testing
from pyptx.types import f32, u32

LENGTH = 256


@kernel(
    in_specs=(Tile("M", "N", f32),),
    out_specs=(Tile("M", "N", f32),),
    grid=lambda M: (M, 1, 1),
    block=(LENGTH // 2, 1, 1),
    arch="sm_80",
)
def bitonic_sort(X, Y):
    """Y[m] is X[m] in ascending order; N is at most LENGTH."""
    _, columns = X.shape
    keys = smem.alloc(f32, (LENGTH,))
    row, thread = ptx.ctaid_x(), reg.from_(ptx.special.tid.x(), u32)
    for n in (thread, thread + LENGTH // 2):
        key = reg.scalar(f32, init=math.inf)
        ptx.ld(f32, key, ptx.at(X, row, n), pred=n < columns)
        keys[n] = key
    for size in (2**k for k in range(1, LENGTH.bit_length())):
        for distance in (2**k for k in reversed(range(size.bit_length() - 1))):
            ptx.bar.sync()
            low = (thread & -distance) * 2 | thread & (distance - 1)
            a, b = keys[low], keys[low | distance]
            falls = (low & size) != 0
            keys[low] = ptx.select(falls, a.max(b), a.min(b))
            keys[low | distance] = ptx.select(falls, a.min(b), a.max(b))
    ptx.bar.sync()
    for n in (thread, thread + LENGTH // 2):
        ptx.st(f32, ptx.at(Y, row, n), keys[n], pred=n < columns)
    ptx.ret()


def reference(x: np.ndarray) -> np.ndarray:
    """Compute the same."""
    return np.sort(x, axis=1)


def main() -> None:
    """Sort rows, wherever this machine can."""
    sizes = {"M": 2, "N": [1, 100, LENGTH]}
    inputs = ["normal", "equal", "descending", "infinities"]
    cases = testing.check(bitonic_sort, reference, inputs, shapes=sizes, schedules=20)
    print(f"bitonic_sort: {cases} cases are right against float64")


if __name__ == "__main__":
    main()
