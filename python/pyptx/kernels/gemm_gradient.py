# SPDX-License-Identifier: Apache-2.0
"""The gradients of a matrix product: two more products, and what an epilogue asks for."""

from __future__ import annotations

import math
from typing import Any

from pyptx.kernels.gemm import matmul
from pyptx.kernels.gemm_config import GemmProblem


def keeps_result(problem: GemmProblem) -> bool:
    """Whether the result tells the slope of the activation; else the product is computed again."""
    return problem.activation == "relu" and not problem.residual  # one-place: a function


def gradients(
    problem: GemmProblem, saved: tuple[Any, ...], batch_invariant: bool
) -> tuple[Any, ...]:
    """Return the gradients of A, B, bias and residual, as they are stored.

    `saved` are those, the result where it is kept, then the gradient of the result.
    """
    a, b, *extra, grad = saved
    bias = extra[0] if problem.bias else None
    a_lies_t, b_lies_t = problem.a_major == "M", problem.b_major == "K"
    how: dict[str, Any] = {"batch_invariant": batch_invariant}
    inner = grad
    if keeps_result(problem):
        inner = grad * _cast(extra.pop() > 0, grad)
    elif problem.activation:
        before = matmul(
            a, b, bias=bias, out_dtype="f32", transpose_a=a_lies_t, transpose_b=b_lies_t, **how
        )
        inner = _cast(grad, before) * _slope(problem.activation, before)
    factor = _cast(inner, a)
    # A is (M, K) or its transpose is stored, and so with B: each gradient is stored as they are.
    if a_lies_t:
        grad_a = matmul(b, factor, transpose_a=b_lies_t, transpose_b=True, **how)
    else:
        grad_a = matmul(factor, b, transpose_b=not b_lies_t, **how)
    if b_lies_t:
        grad_b = matmul(factor, a, transpose_a=True, transpose_b=a_lies_t, **how)
    else:
        grad_b = matmul(a, factor, transpose_a=not a_lies_t, **how)
    found = [grad_a, grad_b]
    if bias is not None:
        rows = inner.reshape(-1, inner.shape[-1])
        found.append(_cast(_wide(rows).sum(0), bias))
    if problem.residual:
        found.append(grad)
    return tuple(found)


def _is_torch(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "torch"


def _cast(x: Any, like: Any) -> Any:
    """Return an array in the element type of another one."""
    return x.to(like.dtype) if _is_torch(x) else x.astype(like.dtype)


def _wide(x: Any) -> Any:
    """Return an array in f32."""
    return x.float() if _is_torch(x) else x.astype("float32")


def _slope(activation: str, z: Any) -> Any:
    """Return the derivative of an activation."""
    if _is_torch(z):
        import torch as functions
    else:
        from jax import lax as functions
    if activation == "relu":  # one-place: a function, not a modifier
        return _cast(z > 0, z)
    if activation == "silu":
        s = 1 / (1 + functions.exp(-z))
        return s * (1 + z * (1 - s))
    if activation == "gelu":
        inside = 0.5 * (1 + functions.erf(z * math.sqrt(0.5)))
        return inside + z * functions.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    scale, cube = math.sqrt(2 / math.pi), 0.044715
    t = functions.tanh(scale * (z + cube * z * z * z))
    return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * scale * (1 + 3 * cube * z * z)
