# SPDX-License-Identifier: Apache-2.0
"""The row kernels as functions on arrays of torch, JAX and NumPy, with gradients.

Each function is a `Call`, whose route picks the kernel for the columns and the element type and
builds it once. The last dimension is the row; those before it are its rows, however many.
"""

from __future__ import annotations

import math
from typing import Any

from pyptx import differentiable_kernel
from pyptx._call.element_types import ptx_name
from pyptx.kernels import checks
from pyptx.kernels.calls import Call, Launch
from pyptx.kernels.cross_entropy import build_cross_entropy
from pyptx.kernels.norms import build_norm
from pyptx.kernels.norms_backward import build_norm_backward
from pyptx.kernels.operations import OPERATIONS, built_once
from pyptx.kernels.quantise import build_quantise
from pyptx.kernels.rotary import build_rotary
from pyptx.kernels.softmax import build_softmax, build_softmax_backward
from pyptx.kernels.swiglu import build_swiglu, build_swiglu_backward
from pyptx.types import from_name


def _type(dtype: Any) -> Any:
    return from_name(ptx_name(dtype))


def _rows(x: Any) -> Any:
    """Return the array as a matrix of its rows."""
    return x if len(x.shape) == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _like(x: Any) -> Any:
    """Return the shape of a result like this array, None where it is a matrix of rows."""
    return None if len(x.shape) == 2 else tuple(x.shape)


# --- norms ----------------------------------------------------------------------------------------


@built_once
def _norm(kind: str, columns: int, dtype: Any, weight: Any, eps: float, residual: bool) -> Any:
    options: dict[str, Any] = {"eps": float(eps), "weight": _type(weight), "residual": residual}
    forward = build_norm(kind, columns, _type(dtype), **options)
    backward = build_norm_backward(kind, columns, _type(dtype), **options)
    if residual:  # of x + residual, the last output, and w
        return differentiable_kernel(
            forward, backward, save_for_backward=[len(forward.in_specs) + 1, 2]
        )
    return differentiable_kernel(forward, backward, save_for_backward=[0, 1])


def _normalised(kind: str, x: Any, residual: Any, weights: tuple[Any, ...], eps: float) -> Launch:
    function = f"{kind}_norm"
    columns = checks.has_rows(function, "x", x)
    if residual is not None:
        checks.has_type_of(function, "residual", residual, "x", x)
        checks.has_shape(function, "residual", residual, tuple(x.shape), "that of x")
    checks.has_type(function, "w", weights[0], checks.FLOATS)
    checks.has_shape(function, "w", weights[0], (columns,), "one for each column")
    if len(weights) > 1:
        checks.has_type_of(function, "b", weights[1], "w", weights[0])
        checks.has_shape(function, "b", weights[1], (columns,), "one for each column")
    eps = checks.settled_number(eps)
    checks.is_epsilon(function, eps)
    name = _norm(kind, columns, x.dtype, weights[0].dtype, eps, residual is not None)
    inputs = (_rows(x), *weights)
    if residual is not None:
        inputs = (inputs[0], _rows(residual), *weights)
    shapes = (_like(x),) * (1 if residual is None else 2)
    return Launch(getattr(OPERATIONS, name), inputs, shapes, (columns,) * len(inputs))


def _rms_route(x: Any, residual: Any, w: Any, *, eps: float) -> Launch:
    return _normalised("rms", x, residual, (w,), eps)


def _layer_route(x: Any, residual: Any, w: Any, b: Any, *, eps: float) -> Launch:
    return _normalised("layer", x, residual, (w, b), eps)


_rms_norm = Call("rms_norm", ("x", "residual", "w"), _rms_route, share=("w",))
_layer_norm = Call("layer_norm", ("x", "residual", "w", "b"), _layer_route, share=("w", "b"))


def rms_norm(x: Any, w: Any, *, eps: float = 1e-6, residual: Any = None) -> Any:
    """Return x / sqrt(mean(x^2) + eps) * w over rows.

    With a residual, x + residual is normalised; returns (y, x + residual). w has the elements'
    type, or another of f32, bf16 and f16.
    """
    return _rms_norm(x, residual, w, eps=eps)


def layer_norm(x: Any, w: Any, b: Any, *, eps: float = 1e-5, residual: Any = None) -> Any:
    """Return (x - mean(x)) / sqrt(var(x) + eps) * w + b over rows.

    With a residual, x + residual is normalised; returns (y, x + residual).
    """
    return _layer_norm(x, residual, w, b, eps=eps)


# --- softmax and cross-entropy --------------------------------------------------------------------


@built_once
def _softmax(columns: int, dtype: Any) -> Any:
    forward = build_softmax(columns, _type(dtype))
    backward = build_softmax_backward(columns, _type(dtype))
    return differentiable_kernel(forward, backward, save_for_backward=[1])


def _softmax_route(x: Any) -> Launch:
    columns = checks.has_rows("softmax", "x", x)
    name = _softmax(columns, x.dtype)
    return Launch(getattr(OPERATIONS, name), (_rows(x),), (_like(x),), (columns,))


_softmax_call = Call("softmax", ("x",), _softmax_route, share=())


def softmax(x: Any) -> Any:
    """Return exp(x) / sum(exp(x)) over rows."""
    return _softmax_call(x)


@built_once
def _cross_entropy_both(columns: int, dtype: Any, target: Any) -> Any:
    return build_cross_entropy(columns, _type(dtype), gradient=True, target=_type(target))


@built_once
def _cross_entropy(columns: int, dtype: Any, target: Any) -> Any:
    kinds = columns, _type(dtype)
    forward = build_cross_entropy(*kinds, gradient=False, target=_type(target))
    both = getattr(OPERATIONS, _cross_entropy_both(columns, dtype, target))

    def backward(x: Any, targets: Any, g: Any) -> Any:
        return both(x, targets, g)[1]

    return differentiable_kernel(forward, backward, num_grad_inputs=1)


def _logits(function: str, logits: Any, targets: Any) -> Any:
    """Return the columns of logits that fit the targets."""
    columns = checks.has_rows(function, "logits", logits)
    checks.has_type(function, "targets", targets, checks.INTEGERS)
    checks.has_shape(function, "targets", targets, tuple(logits.shape[:-1]), "one for each row")
    return columns


def _cross_entropy_route(logits: Any, targets: Any) -> Launch:
    columns, shape = _logits("cross_entropy", logits, targets), tuple(targets.shape)
    name = _cross_entropy(columns, logits.dtype, targets.dtype)
    flat = targets if len(shape) == 1 else targets.reshape(math.prod(shape))
    inputs = (_rows(logits), flat)
    return Launch(
        getattr(OPERATIONS, name), inputs, (None if len(shape) == 1 else shape,), (columns, 0)
    )


_cross_entropy_call = Call("cross_entropy", ("logits", "targets"), _cross_entropy_route, share=())


def cross_entropy(logits: Any, targets: Any) -> Any:
    """Return log(sum(exp(x))) - x[target] for each row of logits, as f32.

    Targets are int32 or int64. One outside of the row, such as -100, has the loss 0 and no
    gradient. Backward reads the logits again; `cross_entropy_and_gradient` does not.
    """
    return _cross_entropy_call(logits, targets)


def _both_route(logits: Any, targets: Any, g: Any, *, out: Any = None) -> Launch:
    function = _both_call.name
    columns = _logits(function, logits, targets)
    if len(logits.shape) != 2:
        checks.refuse("ArgumentShape", function, "logits", "rank 2", checks.shown(logits.shape))
    rows = tuple(targets.shape)
    checks.has_type(function, "g", g, ("f32",))
    checks.has_shape(function, "g", g, rows, "one for each row")
    if out is not None:
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            wanted = "a tuple of two arrays, losses and gradient"
            checks.refuse("ArgumentType", function, "out", wanted, type(out).__name__)
        checks.has_type(function, "out[0]", out[0], ("f32",))
        checks.has_shape(function, "out[0]", out[0], rows, "a loss for each row")
        checks.has_type_of(function, "out[1]", out[1], "logits", logits)
        checks.has_shape(function, "out[1]", out[1], tuple(logits.shape), "that of logits")
    name = _cross_entropy_both(columns, logits.dtype, targets.dtype)
    inputs = (logits, targets, g)
    return Launch(getattr(OPERATIONS, name), inputs, (None, None), (columns, 0, 0))


_both_call = Call("cross_entropy_and_gradient", ("logits", "targets", "g"), _both_route, share=())


def cross_entropy_and_gradient(logits: Any, targets: Any, g: Any, *, out: Any = None) -> Any:
    """Return the losses of rows and the gradient of sum(g * loss), reading the logits once.

    `g` has an f32 for each row: 1 / rows for a mean. `out=(losses, gradient)` says where the
    results go; the gradient may take the place of the logits.
    """
    return _both_call(logits, targets, g, out=out)


# --- elementwise ----------------------------------------------------------------------------------


@built_once
def _swiglu(columns: int, dtype: Any, packed: bool) -> Any:
    kinds = columns, _type(dtype)
    forward = build_swiglu(*kinds, packed=packed)
    return differentiable_kernel(forward, build_swiglu_backward(*kinds, packed=packed))


def _swiglu_route(gate: Any, up: Any) -> Launch:
    if up is not None:
        width = checks.has_rows("swiglu", "gate", gate)
        checks.has_type_of("swiglu", "up", up, "gate", gate)
        checks.has_shape("swiglu", "up", up, tuple(gate.shape), "that of gate")
        op = getattr(OPERATIONS, _swiglu(width, gate.dtype, False))
        return Launch(op, (_rows(gate), _rows(up)), (_like(gate),), (width, width))
    half = checks.has_rows("swiglu", "gate", gate, parts=2)
    op = getattr(OPERATIONS, _swiglu(half, gate.dtype, True))
    shape = None if len(gate.shape) == 2 else (*gate.shape[:-1], half)
    return Launch(op, (_rows(gate),), (shape,), (half,))


_swiglu_call = Call("swiglu", ("gate", "up"), _swiglu_route, share=())


def swiglu(gate: Any, up: Any = None) -> Any:
    """Return silu(gate) * up; without `up`, of the two halves of the rows of `gate`."""
    return _swiglu_call(gate, up)


@built_once
def _rotary(heads: int, size: int, dtype: Any, angles: Any, interleaved: bool) -> Any:
    options: dict[str, Any] = {"interleaved": interleaved, "angles": _type(angles)}
    forward = build_rotary(heads, size, _type(dtype), **options)
    inverse = build_rotary(heads, size, _type(dtype), inverse=True, **options)

    def backward(cos: Any, sin: Any, g: Any) -> Any:
        return inverse(g, cos, sin)

    return differentiable_kernel(forward, backward, save_for_backward=[1, 2], num_grad_inputs=1)


def _rotary_route(x: Any, cos: Any, sin: Any, *, interleaved: bool) -> Launch:
    checks.has_type("rotary", "x", x, checks.FLOATS)
    if len(x.shape) != 4 or x.shape[-1] % 2 or x.shape[-1] == 0:
        wanted = "the shape (batch, positions, heads, size) with an even size"
        checks.refuse("ArgumentShape", "rotary", "x", wanted, checks.shown(x.shape))
    heads, size = (checks.settled_number(extent) for extent in x.shape[2:])
    angles = (x.shape[1], size // 2)
    checks.has_type("rotary", "cos", cos, checks.FLOATS)
    checks.has_shape("rotary", "cos", cos, angles, "an angle for each position and pair")
    checks.has_type_of("rotary", "sin", sin, "cos", cos)
    checks.has_shape("rotary", "sin", sin, angles, "an angle for each position and pair")
    name = _rotary(heads, size, x.dtype, cos.dtype, interleaved)
    return Launch(getattr(OPERATIONS, name), (x, cos, sin), (None,), (size // 2,) * 3)


_rotary_call = Call("rotary", ("x", "cos", "sin"), _rotary_route)


def rotary(x: Any, cos: Any, sin: Any, *, interleaved: bool = False) -> Any:
    """Turn pairs of elements of x, (batch, positions, heads, size), by angles for each position.

    cos and sin are (positions, size / 2). A pair is element i of both halves of a head, or with
    `interleaved` elements 2i and 2i + 1. The gradient is that of x.
    """
    return _rotary_call(x, cos, sin, interleaved=interleaved)


# --- fp8 ------------------------------------------------------------------------------------------


@built_once
def _quantise(columns: int, dtype: Any, to: str) -> Any:
    return build_quantise(columns, _type(dtype), to=from_name(to))


def _quantise_route(x: Any, *, group: int | None, dtype: str) -> Launch:
    columns = checks.has_rows("quantise_fp8", "x", x)
    checks.is_group("quantise_fp8", group, columns)
    checks.is_one_of("quantise_fp8", "dtype", dtype, ("e4m3", "e5m2"))
    width = columns if group is None else group
    checks.has_words("quantise_fp8", "x", width)
    flat = _rows(x) if group is None else x.reshape(math.prod(x.shape) // width, width)
    shape = x.shape[:-1] if group is None else (*x.shape[:-1], columns // width)
    op = getattr(OPERATIONS, _quantise(width, x.dtype, dtype))
    return Launch(op, (flat,), (tuple(x.shape), tuple(shape)), (width,))


_quantise_call = Call("quantise_fp8", ("x",), _quantise_route, share=())


def quantise_fp8(x: Any, *, group: int | None = None, dtype: str = "e4m3") -> tuple[Any, Any]:
    """Return (q, scales) with x close to q * scales, q of fp8 ("e4m3" or "e5m2").

    There is a scale, f32, for each row, or with `group` for each group of so many columns.
    """
    found: tuple[Any, Any] = _quantise_call(x, group=group, dtype=dtype)
    return found
