# SPDX-License-Identifier: Apache-2.0
"""Softmax over rows: one CTA per row, the row read once and kept in registers.

    python examples/hopper/softmax.py [--ptx] [--rows 64] [--columns 1024]

The largest element of the row is taken off before the exponential, so that nothing overflows. Long
rows, other types and a gradient are in `pyptx.kernels.softmax`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from everywhere import arguments, run_and_check
from rows import THREADS, Row

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def build_softmax(B: int, N: int, arch: str = "sm_90a") -> Kernel:
    """Build y = exp(x - max(x)) / sum(exp(x - max(x))) for a (B, N) input; N a multiple of 4."""

    @kernel(
        in_specs=(Tile(B, N, f32),),
        out_specs=(Tile(B, N, f32),),
        grid=(B, 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def softmax(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        row = Row(N)
        # Beyond the row lies what neither the maximum nor, after the exponential, the sum sees.
        x = row.load(px + row.offset, outside=-math.inf)

        largest = reg.scalar(f32, init=-math.inf)
        for value in x:
            ptx.inst.max.f32(largest, largest, value)
        largest = row.max(largest)

        # exp(x - m) = 2 ** (x * log2(e) - m * log2(e)): one fma and one ex2 per element.
        shift = reg.scalar(f32)
        ptx.inst.mul.f32(shift, largest, -math.log2(math.e))
        total = reg.scalar(f32, init=0.0)
        for value in x:
            ptx.inst.fma.rn.f32(value, value, math.log2(math.e), shift)
            ptx.inst.ex2.approx.ftz.f32(value, value)
            ptx.inst.add.f32(total, total, value)
        inverse = row.sum(total)
        ptx.inst.rcp.approx.ftz.f32(inverse, inverse)

        for value in x:
            ptx.inst.mul.f32(value, value, inverse)
        row.store(py + row.offset, x)
        ptx.ret()

    return softmax


def reference(x: np.ndarray) -> np.ndarray:
    """Compute the same in the precision of the input."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def main() -> None:
    """Take the softmax of rows with every framework that is installed."""
    options = arguments(__doc__)
    k = build_softmax(options.rows, options.columns)
    if options.ptx:
        print(k.ptx())
    rng = np.random.default_rng()
    x = (rng.standard_normal((options.rows, options.columns)) * 4.0).astype(np.float32)
    run_and_check("softmax", k, (x,), reference)


if __name__ == "__main__":
    main()
