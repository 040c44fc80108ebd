# SPDX-License-Identifier: Apache-2.0
"""The row kernels as functions on arrays of torch, JAX and NumPy, with gradients.

Each function picks the kernel for the columns and the element type, builds it once, and calls it.
The last dimension is the row; the dimensions before it are its rows, however many there are.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

from pyptx import differentiable_kernel
from pyptx._dtypes import ptx_name
from pyptx.kernels.cross_entropy import build_cross_entropy
from pyptx.kernels.norms import build_norm
from pyptx.kernels.norms_backward import build_norm_backward
from pyptx.kernels.quantise import build_quantise
from pyptx.kernels.rotary import build_rotary
from pyptx.kernels.softmax import build_softmax, build_softmax_backward
from pyptx.kernels.swiglu import build_swiglu, build_swiglu_backward
from pyptx.types import from_name


class _Operations:
    """What has been built, an attribute each.

    Not a dict: torch.compile reads a dict once, and does not see what it has built since.
    """


_OPS = _Operations()
_numbers = itertools.count()


def built_once(build: Callable[..., Any]) -> Callable[..., str]:
    """Make `build` return the name in `_OPS` of what it builds when it is first asked for it.

    torch.compile runs that while it traces and keeps the name; the operation itself it reads from
    `_OPS`, as it reads any global.
    """

    @functools.cache
    def name_of(*arguments: Any) -> str:
        operation = build(*arguments)
        name = f"op{next(_numbers)}"
        setattr(_OPS, name, operation)
        return name

    def built(*arguments: Any) -> str:
        return name_of(*arguments)

    # What torch.compiler.assume_constant_result() sets, while torch may not be loaded.
    built._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return functools.wraps(build)(built)


def _type(dtype: Any) -> Any:
    return from_name(ptx_name(dtype))


def _rows(x: Any) -> Any:
    """Return the array as a matrix of its rows."""
    return x if len(x.shape) == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _like(y: Any, x: Any) -> Any:
    return y if len(x.shape) == 2 else y.reshape(x.shape)


# --- norms ----------------------------------------------------------------------------------------


@built_once
def _norm(kind: str, columns: int, dtype: Any, weight: Any, eps: float, residual: bool) -> Any:
    options: dict[str, Any] = {"eps": eps, "weight": _type(weight), "residual": residual}
    forward = build_norm(kind, columns, _type(dtype), **options)
    backward = build_norm_backward(kind, columns, _type(dtype), **options)
    if residual:  # of x + residual, the last output, and w
        return differentiable_kernel(
            forward, backward, save_for_backward=[len(forward.in_specs) + 1, 2]
        )
    return differentiable_kernel(forward, backward, save_for_backward=[0, 1])


def _normalised(kind: str, x: Any, weights: tuple[Any, ...], eps: float, residual: Any) -> Any:
    op = getattr(
        _OPS, _norm(kind, x.shape[-1], x.dtype, weights[0].dtype, eps, residual is not None)
    )
    if residual is None:
        return _like(op(_rows(x), *weights), x)
    y, total = op(_rows(x), _rows(residual), *weights)
    return _like(y, x), _like(total, x)


def rms_norm(x: Any, w: Any, *, eps: float = 1e-6, residual: Any = None) -> Any:
    """Return x / sqrt(mean(x^2) + eps) * w over rows.

    With a residual, x + residual is normalised; returns (y, x + residual). w has the elements'
    type, or another of f32, bf16 and f16.
    """
    return _normalised("rms", x, (w,), eps, residual)


def layer_norm(x: Any, w: Any, b: Any, *, eps: float = 1e-5, residual: Any = None) -> Any:
    """Return (x - mean(x)) / sqrt(var(x) + eps) * w + b over rows.

    With a residual, x + residual is normalised; returns (y, x + residual).
    """
    return _normalised("layer", x, (w, b), eps, residual)


# --- softmax and cross-entropy --------------------------------------------------------------------


@built_once
def _softmax(columns: int, dtype: Any) -> Any:
    forward = build_softmax(columns, _type(dtype))
    backward = build_softmax_backward(columns, _type(dtype))
    return differentiable_kernel(forward, backward, save_for_backward=[1])


def softmax(x: Any) -> Any:
    """Return exp(x) / sum(exp(x)) over rows."""
    return _like(getattr(_OPS, _softmax(x.shape[-1], x.dtype))(_rows(x)), x)


@built_once
def _cross_entropy_both(columns: int, dtype: Any, target: Any) -> Any:
    return build_cross_entropy(columns, _type(dtype), gradient=True, target=_type(target))


@built_once
def _cross_entropy(columns: int, dtype: Any, target: Any) -> Any:
    kinds = columns, _type(dtype)
    forward = build_cross_entropy(*kinds, gradient=False, target=_type(target))
    both = getattr(_OPS, _cross_entropy_both(columns, dtype, target))

    def backward(x: Any, targets: Any, g: Any) -> Any:
        return both(x, targets, g)[1]

    return differentiable_kernel(forward, backward, num_grad_inputs=1)


def cross_entropy(logits: Any, targets: Any) -> Any:
    """Return log(sum(exp(x))) - x[target] for each row of logits, as f32.

    Targets are int32 or int64. One outside of the row, such as -100, has the loss 0 and no
    gradient. Backward reads the logits again; `cross_entropy_and_gradient` does not.
    """
    op = getattr(_OPS, _cross_entropy(logits.shape[-1], logits.dtype, targets.dtype))
    shape = targets.shape
    return op(_rows(logits), targets.reshape(math.prod(shape))).reshape(shape)


def cross_entropy_and_gradient(logits: Any, targets: Any, g: Any, *, out: Any = None) -> Any:
    """Return the losses of rows and the gradient of sum(g * loss), reading the logits once.

    `g` has an f32 for each row: 1 / rows for a mean. `out=(losses, gradient)` says where the
    results go; the gradient may take the place of the logits.
    """
    both = getattr(_OPS, _cross_entropy_both(logits.shape[-1], logits.dtype, targets.dtype))
    return both(logits, targets, g) if out is None else both(logits, targets, g, out=out)


# --- elementwise ----------------------------------------------------------------------------------


@built_once
def _swiglu(columns: int, dtype: Any, packed: bool) -> Any:
    kinds = columns, _type(dtype)
    forward = build_swiglu(*kinds, packed=packed)
    return differentiable_kernel(forward, build_swiglu_backward(*kinds, packed=packed))


def swiglu(gate: Any, up: Any = None) -> Any:
    """Return silu(gate) * up; without `up`, of the two halves of the rows of `gate`."""
    if up is not None:
        return _like(
            getattr(_OPS, _swiglu(gate.shape[-1], gate.dtype, False))(_rows(gate), _rows(up)), gate
        )
    width = gate.shape[-1]
    if width % 2:
        raise ValueError(f"gate and up are halves of a row, but it has {width} columns")
    y = getattr(_OPS, _swiglu(width // 2, gate.dtype, True))(_rows(gate))
    return y if len(gate.shape) == 2 else y.reshape((*gate.shape[:-1], width // 2))


@built_once
def _rotary(heads: int, size: int, dtype: Any, angles: Any, interleaved: bool) -> Any:
    options: dict[str, Any] = {"interleaved": interleaved, "angles": _type(angles)}
    forward = build_rotary(heads, size, _type(dtype), **options)
    inverse = build_rotary(heads, size, _type(dtype), inverse=True, **options)

    def backward(cos: Any, sin: Any, g: Any) -> Any:
        return inverse(g, cos, sin)

    return differentiable_kernel(forward, backward, save_for_backward=[1, 2], num_grad_inputs=1)


def rotary(x: Any, cos: Any, sin: Any, *, interleaved: bool = False) -> Any:
    """Turn pairs of elements of x, (batch, positions, heads, size), by angles for each position.

    cos and sin are (positions, size / 2). A pair is element i of both halves of a head, or with
    `interleaved` elements 2i and 2i + 1. The gradient is that of x.
    """
    op = getattr(_OPS, _rotary(x.shape[-2], x.shape[-1], x.dtype, cos.dtype, interleaved))
    return op(x, cos, sin)


# --- fp8 ------------------------------------------------------------------------------------------


@built_once
def _quantise(columns: int, dtype: Any, to: str) -> Any:
    return build_quantise(columns, _type(dtype), to=from_name(to))


def quantise_fp8(x: Any, *, group: int | None = None, dtype: str = "e4m3") -> tuple[Any, Any]:
    """Return (q, scales) with x close to q * scales, q of fp8 ("e4m3" or "e5m2").

    There is a scale, f32, for each row, or with `group` for each group of so many columns.
    """
    columns = x.shape[-1]
    width = columns if group is None else group
    if width < 1 or columns % width:
        raise ValueError(f"groups of {group} columns do not fill rows of {columns}")
    flat = _rows(x) if group is None else x.reshape(math.prod(x.shape) // width, width)
    q, scales = getattr(_OPS, _quantise(width, x.dtype, dtype))(flat)
    shape = x.shape[:-1] if group is None else (*x.shape[:-1], columns // width)
    return q.reshape(x.shape), scales.reshape(shape)
