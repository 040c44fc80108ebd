# SPDX-License-Identifier: Apache-2.0
"""LayerNorm: one CTA normalises one row, mean and variance from registers.

    python examples/hopper/layer_norm.py [--ptx] [--rows 64] [--columns 1024]

The row is read once. The variance is the mean of the squared distances from the mean, not the
difference of two large sums, so that rows with a large mean lose nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from everywhere import arguments, run_and_check
from rows import THREADS, Row

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def build_layer_norm(B: int, N: int, eps: float = 1e-5, arch: str = "sm_90a") -> Kernel:
    """Build y = (x - mean) / sqrt(var + eps) * w + b for a (B, N) input; N a multiple of 4."""

    @kernel(
        in_specs=(Tile(B, N, f32), Tile(N, f32), Tile(N, f32)),
        out_specs=(Tile(B, N, f32),),
        grid=(B, 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def layer_norm(X, W, Bias, Y):
        px, pw, pb, py = ptx.global_ptrs(X, W, Bias, Y)
        row = Row(N)
        x = row.load(px + row.offset)

        total = reg.scalar(f32, init=0.0)
        for value in x:
            ptx.inst.add.f32(total, total, value)
        mean = row.sum(total)
        ptx.inst.mul.f32(mean, mean, 1.0 / N)

        squares = reg.scalar(f32, init=0.0)
        for step, vector in row.split(x):
            guard = row.inside(step)  # what is loaded beyond the row is no distance from the mean
            for value in vector:
                ptx.inst.sub.f32(value, value, mean)
                ptx.inst.fma.rn.f32(squares, value, value, squares, pred=guard)
        rstd = row.sum(squares)
        ptx.inst.fma.rn.f32(rstd, rstd, 1.0 / N, eps)
        ptx.inst.rsqrt.approx.f32(rstd, rstd)

        column = row.tid * 16
        w, b = row.load(pw + column), row.load(pb + column)
        for value, scale, shift in zip(x, w, b, strict=True):
            ptx.inst.mul.f32(value, value, rstd)
            ptx.inst.fma.rn.f32(value, value, scale, shift)
        row.store(py + row.offset, x)
        ptx.ret()

    return layer_norm


def reference(x: np.ndarray, w: np.ndarray, b: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Compute the same in the precision of the inputs."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps) * w + b


def main() -> None:
    """Normalise rows with a mean far from zero, with every framework that is installed."""
    options = arguments(__doc__)
    k = build_layer_norm(options.rows, options.columns)
    if options.ptx:
        print(k.ptx())
    rng = np.random.default_rng()
    x = (rng.standard_normal((options.rows, options.columns)) + 3.0).astype(np.float32)
    w, b = (rng.standard_normal(options.columns).astype(np.float32) for _ in range(2))
    run_and_check("layer_norm", k, (x, w, b), reference)


if __name__ == "__main__":
    main()
