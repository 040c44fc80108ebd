# SPDX-License-Identifier: Apache-2.0
"""A transpose through shared memory whose columns are swizzled, so that no access has conflicts.

    python examples/patterns/transpose.py

A tile of 32 x 32 is loaded by rows and stored by columns. Element (r, c) lies at column c ^ r of
its row: the 32 lanes of a warp reach all 32 banks both ways, and no byte is spent on padding.
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem, testing
from pyptx.types import f32, u32


@kernel(
    in_specs=(Tile("M", "N", f32),),
    out_specs=(Tile("N", "M", f32),),
    grid=lambda M, N: (-(-N // 32), -(-M // 32), 1),
    block=(32, 8, 1),
    arch="sm_80",
)
def transpose(X, Y):
    """Y is X, transposed."""
    rows, columns = X.shape
    tile = smem.alloc(f32, (32, 32))
    tx, ty = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.tid.y(), u32)
    x, y = ptx.ctaid_x() * 32, ptx.ctaid_y() * 32
    for i in range(0, 32, 8):
        with ptx.if_((y + ty + i < rows) & (x + tx < columns)):
            value = ptx.ld(f32, reg.scalar(f32), ptx.at(X, y + ty + i, x + tx))
            tile[ty + i, tx ^ (ty + i)] = value
    ptx.bar.sync()
    for i in range(0, 32, 8):
        with ptx.if_((x + ty + i < columns) & (y + tx < rows)):
            ptx.st(f32, ptx.at(Y, x + ty + i, y + tx), tile[tx, tx ^ (ty + i)])
    ptx.ret()


def reference(x: np.ndarray) -> np.ndarray:
    """Compute the same."""
    return x.T


def main() -> None:
    """Transpose matrices with ragged edges, wherever this machine can."""
    sizes = {"M": [1, 32, 77], "N": [31, 64, 100]}
    cases = testing.check(transpose, reference, shapes=sizes, schedules=20)
    print(f"transpose: {cases} cases are right against float64")


if __name__ == "__main__":
    main()
