# SPDX-License-Identifier: Apache-2.0
"""RMSNorm: one warp normalises one row. From PyTorch, from jax.jit and from NumPy.

    python examples/hopper/rms_norm.py [--ptx] [--profile] [--rows 64] [--columns 1024]

On a machine with an NVIDIA GPU the kernel runs there, else on the emulator; either way the result
is compared with a float64 reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from everywhere import arguments, run_and_check, show_profile

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

WARP_SIZE = 32


def build_rms_norm(B: int, N: int, eps: float = 1e-6, arch: str = "sm_90a") -> Kernel:
    """Build the kernel y = x / sqrt(mean(x^2) + eps) * w for a (B, N) input."""
    items_per_thread = N // WARP_SIZE

    @kernel(
        in_specs=(Tile(B, N, f32), Tile(N, f32)),
        out_specs=(Tile(B, N, f32),),
        grid=(B, 1, 1),
        block=(WARP_SIZE, 1, 1),
        arch=arch,
    )
    def rms_norm(X, W, Y):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        row_byte_off = row * (N * 4)
        px += row_byte_off
        py += row_byte_off

        tid = reg.from_(ptx.special.tid.x(), u32)
        sum_sq = reg.scalar(f32, init=0.0)
        x_vals = reg.array(f32, items_per_thread)

        for i in range(items_per_thread):
            idx = tid + i * WARP_SIZE
            ptr = px + idx * 4
            ptx.inst.ld.global_.f32(x_vals[i], ptx.addr(ptr))
            ptx.inst.fma.rn.f32(sum_sq, x_vals[i], x_vals[i], sum_sq)

        ptx.warp.reduce_sum(sum_sq)
        mean_sq = reg.scalar(f32)
        inv_n = reg.scalar(f32, init=1.0 / N)
        eps_reg = reg.scalar(f32, init=eps)
        rstd = reg.scalar(f32)
        ptx.inst.mul.f32(mean_sq, sum_sq, inv_n)
        ptx.inst.add.f32(mean_sq, mean_sq, eps_reg)
        ptx.inst.rsqrt.approx.f32(rstd, mean_sq)

        for i in range(items_per_thread):
            idx = tid + i * WARP_SIZE
            off = idx * 4
            w_val = reg.scalar(f32)
            y_val = reg.scalar(f32)
            ptx.inst.ld.global_.f32(w_val, ptx.addr(pw + off))
            ptx.inst.mul.f32(y_val, x_vals[i], rstd)
            ptx.inst.mul.f32(y_val, y_val, w_val)
            ptx.inst.st.global_.f32(ptx.addr(py + off), y_val)
        ptx.ret()

    return rms_norm


def reference(x: np.ndarray, w: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Compute the same in the precision of the inputs."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w


def main() -> None:
    """Run the kernel every way that is installed here and print the errors."""
    options = arguments(__doc__)
    k = build_rms_norm(options.rows, options.columns)
    if options.ptx:
        print(k.ptx())
    rng = np.random.default_rng()
    x = (rng.standard_normal((options.rows, options.columns)) * 0.3).astype(np.float32)
    w = (rng.standard_normal(options.columns) * 0.1 + 1.0).astype(np.float32)
    run_and_check("rms_norm", k, (x, w), reference)
    if options.profile:
        show_profile(k, (x, w))


if __name__ == "__main__":
    main()
