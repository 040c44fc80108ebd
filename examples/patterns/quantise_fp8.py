# SPDX-License-Identifier: Apache-2.0
"""Rows in fp8 (e4m3) with a scale each, so that the largest element of a row is the type's largest.

    python examples/patterns/quantise_fp8.py

One warp quantises one row: a lane has four neighbours at a time, a vector load of 16 bytes and a
store of four. Q[m] * Scale[m] is X[m] again, but for the rounding.
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, testing
from pyptx.types import b32, e4m3, f32, u32

LARGEST = 448.0  # of e4m3


@kernel(
    in_specs=(Tile("M", "N", f32),),
    out_specs=(Tile("M", "N", e4m3), Tile("M", f32)),
    grid=lambda M: (M, 1, 1),
    block=(32, 1, 1),
    arch="sm_90a",
)
def quantise_fp8(X, Q, Scale):
    """Q = X / Scale in e4m3; N is a multiple of 128."""
    _, columns = X.shape
    m, lane = ptx.ctaid_x(), reg.from_(ptx.special.tid.x(), u32) * 4
    row, largest = reg.array(f32, columns // 32), reg.scalar(f32, init=1e-30)
    for i in range(0, columns // 32, 4):
        ptx.inst.ld.global_.v4.f32(row.regs()[i : i + 4], ptx.at(X, m, lane + i * 32))
        for value in row.regs()[i : i + 4]:
            largest = largest.max(abs(value))
    ptx.warp.reduce_max(largest)
    inverse, scale = reg.scalar(f32), largest * (1 / LARGEST)
    ptx.inst.rcp.rn.f32(inverse, scale)
    for i in range(0, columns // 32, 4):
        a, b, c, d = (value * inverse for value in row.regs()[i : i + 4])
        low, high, quad = reg.scalar("b16"), reg.scalar("b16"), reg.scalar(b32)
        ptx.inst.cvt.rn.satfinite.e4m3x2.f32(low, b, a)
        ptx.inst.cvt.rn.satfinite.e4m3x2.f32(high, d, c)
        ptx.inst.st.global_.b32(ptx.at(Q, m, lane + i * 32), ptx.mov(b32, quad, [low, high]))
    ptx.st(f32, ptx.at(Scale, m), scale)
    ptx.ret()


def reference(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the same before the rounding."""
    scale = np.maximum(np.abs(x).max(axis=1), 1e-30) / LARGEST
    return x / scale[:, None], scale


def main() -> None:
    """Quantise rows, wherever this machine can."""
    sizes, inputs = {"M": [1, 3], "N": [128, 384]}, ["normal", "zeros", "mixed", "large", "tiny"]
    cases = testing.check(quantise_fp8, reference, inputs, shapes=sizes, schedules=20)
    print(f"quantise_fp8: {cases} cases are right against float64")


if __name__ == "__main__":
    main()
