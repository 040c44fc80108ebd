# SPDX-License-Identifier: Apache-2.0
"""LayerNorm: one CTA normalises one row, mean and variance from registers; with gradients.

    python examples/hopper/layer_norm.py [--ptx] [--rows 64] [--columns 1024]

The row is read once. The variance is the mean of the squared distances from the mean, not the
difference of two large sums, so that rows with a large mean lose nothing. Long rows and other
types are in `pyptx.kernels.layer_norm`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from everywhere import arguments, check_gradients, run_and_check
from rows import PARTS, THREADS, Row, build_column_sums, inverse_root, of

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def normalise(row: Row, x: list[Any], n: int, eps: float) -> Any:
    """Turn a row's elements into their distances from the mean; return 1 / sqrt(var + eps)."""
    add, sub, fma = (of(op, row.dtype) for op in (ptx.inst.add, ptx.inst.sub, ptx.inst.fma.rn))
    total = reg.scalar(row.dtype, init=0.0)
    for value in x:
        add(total, total, value)
    mean = row.sum(total)
    of(ptx.inst.mul.rn, row.dtype)(mean, mean, 1.0 / n)

    squares = reg.scalar(row.dtype, init=0.0)
    for step, vector in row.split(x):
        guard = row.inside(step)  # what is loaded beyond the row is no distance from the mean
        for value in vector:
            sub(value, value, mean)
            fma(squares, value, value, squares, pred=guard)
    rstd = row.sum(squares)
    fma(rstd, rstd, 1.0 / n, eps)
    inverse_root(rstd, rstd)
    return rstd


def build_layer_norm(
    B: int, N: int, eps: float = 1e-5, arch: str = "sm_90a", dtype: Any = f32
) -> Kernel:
    """Build y = (x - mean) / sqrt(var + eps) * w + b for a (B, N) input of f32 or f64.

    N is a multiple of 4, of 2 for f64.
    """
    mul, fma = of(ptx.inst.mul.rn, dtype), of(ptx.inst.fma.rn, dtype)

    @kernel(
        in_specs=(Tile(B, N, dtype), Tile(N, dtype), Tile(N, dtype)),
        out_specs=(Tile(B, N, dtype),),
        grid=(B, 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def layer_norm(X, W, Bias, Y):
        px, pw, pb, py = ptx.global_ptrs(X, W, Bias, Y)
        row = Row(N, dtype)
        x = row.load(px + row.offset)
        rstd = normalise(row, x, N, eps)

        column = row.tid * 16
        w, b = row.load(pw + column), row.load(pb + column)
        for value, scale, shift in zip(x, w, b, strict=True):
            mul(value, value, rstd)
            fma(value, value, scale, shift)
        row.store(py + row.offset, x)
        ptx.ret()

    return layer_norm


def build_layer_norm_backward(
    B: int, N: int, eps: float = 1e-5, arch: str = "sm_90a", dtype: Any = f32
) -> Callable[..., Any]:
    """Build (x, w, g) -> (dx, dw, db): a kernel over the rows, and one that adds up its parts.

    With x' the normalised row, r = 1 / sqrt(var + eps) and s = g * w:
    dx = r * (s - mean(s) - x' * mean(s * x')), dw is the sum of g * x' over the rows, db that of g.
    CTA p takes the rows p, p + parts, p + 2 * parts, ...
    """
    parts = min(B, PARTS)
    add, mul, sub = (of(op, dtype) for op in (ptx.inst.add, ptx.inst.mul.rn, ptx.inst.sub))
    fma = of(ptx.inst.fma.rn, dtype)
    columns = build_column_sums(parts, N, dtype, arch)

    @kernel(
        in_specs=(Tile(B, N, dtype), Tile(N, dtype), Tile(B, N, dtype)),
        out_specs=(Tile(B, N, dtype), Tile(parts, N, dtype), Tile(parts, N, dtype)),
        grid=(parts, 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def layer_norm_backward(X, W, G, DX, PartsW, PartsB):
        px, pw, pg, pdx, pdw, pdb = ptx.global_ptrs(X, W, G, DX, PartsW, PartsB)
        row = Row(N, dtype)
        w = row.load(pw + row.tid * 16)
        dw, db = ([reg.scalar(dtype, init=0.0) for _ in w] for _ in range(2))
        with ptx.range_(reg.from_(ptx.special.ctaid.x(), u32), B, parts) as index:
            place = row.place(index)
            x, g = row.load(px + place), row.load(pg + place)
            rstd = normalise(row, x, N, eps)
            total, products = reg.scalar(dtype, init=0.0), reg.scalar(dtype, init=0.0)
            for value, grad, scale, sum_w, sum_b in zip(x, g, w, dw, db, strict=True):
                mul(value, value, rstd)
                fma(sum_w, grad, value, sum_w)
                add(sum_b, sum_b, grad)
                mul(grad, grad, scale)
                add(total, total, grad)
                fma(products, grad, value, products)
            mean = row.sum(total)
            mul(mean, mean, 1.0 / N)
            slope = row.sum(products)
            mul(slope, slope, 1.0 / N)
            for value, grad in zip(x, g, strict=True):
                sub(grad, grad, mean)
                mul(value, value, slope)
                sub(grad, grad, value)
                mul(grad, grad, rstd)
            row.store(pdx + place, g)
        row.store(pdw + row.offset, dw)
        row.store(pdb + row.offset, db)
        ptx.ret()

    def backward(x: Any, w: Any, g: Any) -> tuple[Any, Any, Any]:
        dx, dw_parts, db_parts = layer_norm_backward(x, w, g)
        return dx, columns(dw_parts), columns(db_parts)

    return backward


def reference(x: np.ndarray, w: np.ndarray, b: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Compute the same in the precision of the inputs."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps) * w + b


def gradients(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, g: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, ...]:
    """Compute the gradients of sum(g * y) in the precision of the inputs."""
    centred = x - x.mean(axis=-1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    normal, scaled = centred * rstd, g * w
    slope = (scaled * normal).mean(axis=-1, keepdims=True)
    dx = rstd * (scaled - scaled.mean(axis=-1, keepdims=True) - normal * slope)
    return dx, (g * normal).sum(axis=0), g.sum(axis=0)


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
    backward = build_layer_norm_backward(options.rows, options.columns)
    op = differentiable_kernel(k, backward, save_for_backward=[0, 1])
    check_gradients("layer_norm", op, (x, w, b), gradients)


if __name__ == "__main__":
    main()
