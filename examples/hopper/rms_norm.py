# SPDX-License-Identifier: Apache-2.0
"""RMSNorm: one warp normalises one row. From PyTorch, from jax.jit and from NumPy, with gradients.

    python examples/hopper/rms_norm.py [--ptx] [--profile] [--rows 64] [--columns 1024]

On a machine with an NVIDIA GPU the kernels run there, else on the emulator; either way the result
and the gradients are compared with a float64 reference. Loads of four bytes and a warp for each row
are simple, not fast: `pyptx.kernels.rms_norm` is the kernel to use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from everywhere import arguments, check_gradients, run_and_check, show_profile
from rows import PARTS, THREADS, Row, build_column_sums, inverse_root, of

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

WARP_SIZE = 32


def build_rms_norm(
    B: int, N: int, eps: float = 1e-6, arch: str = "sm_90a", dtype: Any = f32
) -> Kernel:
    """Build the kernel y = x / sqrt(mean(x^2) + eps) * w for a (B, N) input of f32 or f64."""
    items_per_thread = N // WARP_SIZE
    size = dtype.bits // 8
    load, store = of(ptx.inst.ld.global_, dtype), of(ptx.inst.st.global_, dtype)
    add, mul, fma = (of(op, dtype) for op in (ptx.inst.add, ptx.inst.mul, ptx.inst.fma.rn))

    @kernel(
        in_specs=(Tile(B, N, dtype), Tile(N, dtype)),
        out_specs=(Tile(B, N, dtype),),
        grid=(B, 1, 1),
        block=(WARP_SIZE, 1, 1),
        arch=arch,
    )
    def rms_norm(X, W, Y):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        row_byte_off = row * (N * size)
        px += row_byte_off
        py += row_byte_off

        tid = reg.from_(ptx.special.tid.x(), u32)
        sum_sq = reg.scalar(dtype, init=0.0)
        x_vals = reg.array(dtype, items_per_thread)

        for i in range(items_per_thread):
            idx = tid + i * WARP_SIZE
            ptr = px + idx * size
            load(x_vals[i], ptx.addr(ptr))
            fma(sum_sq, x_vals[i], x_vals[i], sum_sq)

        ptx.warp.reduce_sum(sum_sq)
        mean_sq = reg.scalar(dtype)
        inv_n = reg.scalar(dtype, init=1.0 / N)
        eps_reg = reg.scalar(dtype, init=eps)
        rstd = reg.scalar(dtype)
        mul(mean_sq, sum_sq, inv_n)
        add(mean_sq, mean_sq, eps_reg)
        inverse_root(rstd, mean_sq)

        for i in range(items_per_thread):
            idx = tid + i * WARP_SIZE
            off = idx * size
            w_val = reg.scalar(dtype)
            y_val = reg.scalar(dtype)
            load(w_val, ptx.addr(pw + off))
            mul(y_val, x_vals[i], rstd)
            mul(y_val, y_val, w_val)
            store(ptx.addr(py + off), y_val)
        ptx.ret()

    return rms_norm


def build_rms_norm_backward(
    B: int, N: int, eps: float = 1e-6, arch: str = "sm_90a", dtype: Any = f32
) -> Callable[..., Any]:
    """Build (x, w, g) -> (dx, dw): a kernel over the rows, and one that adds up its parts of dw.

    With r = 1 / sqrt(mean(x^2) + eps): dx = r * (g * w - x * r^2 * mean(g * w * x)), and dw is the
    sum of g * x * r over the rows. CTA p takes the rows p, p + parts, p + 2 * parts, ...
    """
    parts = min(B, PARTS)
    mul, sub, fma = (of(op, dtype) for op in (ptx.inst.mul, ptx.inst.sub, ptx.inst.fma.rn))
    columns = build_column_sums(parts, N, dtype, arch)

    @kernel(
        in_specs=(Tile(B, N, dtype), Tile(N, dtype), Tile(B, N, dtype)),
        out_specs=(Tile(B, N, dtype), Tile(parts, N, dtype)),
        grid=(parts, 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def rms_norm_backward(X, W, G, DX, Parts):
        px, pw, pg, pdx, pparts = ptx.global_ptrs(X, W, G, DX, Parts)
        row = Row(N, dtype)
        w = row.load(pw + row.tid * 16)
        dw = [reg.scalar(dtype, init=0.0) for _ in w]
        with ptx.range_(reg.from_(ptx.special.ctaid.x(), u32), B, parts) as index:
            place = row.place(index)
            x, g = row.load(px + place), row.load(pg + place)
            squares, products = reg.scalar(dtype, init=0.0), reg.scalar(dtype, init=0.0)
            scaled = [reg.scalar(dtype) for _ in g]  # g * w
            for value, grad, scale, both in zip(x, g, w, scaled, strict=True):
                fma(squares, value, value, squares)
                mul(both, grad, scale)
                fma(products, both, value, products)
            rstd = row.sum(squares)
            fma(rstd, rstd, 1.0 / N, eps)
            inverse_root(rstd, rstd)
            shift = row.sum(products)
            mul(shift, shift, 1.0 / N)
            mul(shift, shift, rstd)
            for value, grad, both, total in zip(x, g, scaled, dw, strict=True):
                mul(value, value, rstd)  # normalised
                fma(total, grad, value, total)
                mul(value, value, shift)
                sub(both, both, value)
                mul(both, both, rstd)
            row.store(pdx + place, scaled)
        row.store(pparts + row.offset, dw)
        ptx.ret()

    def backward(x: Any, w: Any, g: Any) -> tuple[Any, Any]:
        dx, dw_parts = rms_norm_backward(x, w, g)
        return dx, columns(dw_parts)

    return backward


def reference(x: np.ndarray, w: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Compute the same in the precision of the inputs."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w


def gradients(
    x: np.ndarray, w: np.ndarray, g: np.ndarray, eps: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the gradients of sum(g * y) in the precision of the inputs."""
    rstd = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    projected = (g * w * x).mean(axis=-1, keepdims=True)
    return rstd * (g * w - x * rstd**2 * projected), (g * x * rstd).sum(axis=0)


def main() -> None:
    """Run the kernels every way that is installed here and print the errors."""
    options = arguments(__doc__)
    k = build_rms_norm(options.rows, options.columns)
    if options.ptx:
        print(k.ptx())
    rng = np.random.default_rng()
    x = (rng.standard_normal((options.rows, options.columns)) * 0.3).astype(np.float32)
    w = (rng.standard_normal(options.columns) * 0.1 + 1.0).astype(np.float32)
    run_and_check("rms_norm", k, (x, w), reference)
    backward = build_rms_norm_backward(options.rows, options.columns)
    check_gradients("rms_norm", differentiable_kernel(k, backward), (x, w), gradients)
    if options.profile:
        show_profile(k, (x, w))


if __name__ == "__main__":
    main()
