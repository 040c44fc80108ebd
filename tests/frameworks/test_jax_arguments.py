# SPDX-License-Identifier: Apache-2.0
"""Arguments of kernels, pairs and functions of the library in JAX: taken, or refused in our words.

Types, ranks and sizes are in test_jax_transforms.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx
from pyptx._errors import Error
from pyptx.kernels import cross_entropy, rms_norm, swiglu
from pyptx.types import f32, s64
from support.packages import need
from support.sample_kernels import build_row_scale, scaled_copy

jax = need("jax")
jnp = jax.numpy

X, W = jnp.linspace(0, 1, 4 * 32).reshape(4, 32), jnp.linspace(1, 2, 32)
SCALE = build_row_scale()
BATCHED = build_row_scale(batch="B")


def pair_of(backward: Any) -> Any:
    return differentiable_kernel(SCALE, backward)


PAIR = pair_of(lambda x, w, g: (SCALE(g, w), (g * x).sum(0)))


def is_refused(code: str, message: str, call: Any, *args: Any, **keywords: Any) -> None:
    with pytest.raises(Error, match=message) as caught:
        call(*args, **keywords)
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("function", [SCALE, BATCHED, PAIR])
def test_the_number_of_inputs(function: Any) -> None:
    for _ in range(2):  # the second time a jitted function answers
        for called in (function, jax.jit(function)):
            is_refused("PTX0840", r"takes 2 inputs \(X, W\), got 3", called, X, W, W)
            is_refused("PTX0840", r"takes 2 inputs \(X, W\), got 1", called, X)
        np.testing.assert_array_equal(function(X, W), X * W)
    # An array of out= is no input.
    is_refused("PTX0840", "got 1", function, X, out=jnp.zeros((4, 32)))
    is_refused("PTX0840", "got 3", function, X, W, W, out=jnp.zeros((4, 32)))
    np.testing.assert_array_equal(function(X, W, out=jnp.zeros((4, 32))), X * W)


def test_the_number_of_inputs_of_a_bound_kernel() -> None:
    bound = SCALE.bind(X, W)
    is_refused("PTX0840", "has 2 inputs", bound, X, W, W)
    is_refused("PTX0840", "has 2 inputs", jax.jit(bound), X)


@pytest.mark.parametrize("value", [[1.0] * 32, 1.0, None])
def test_what_is_no_array(value: Any) -> None:
    for call in (SCALE, PAIR, jax.grad(lambda x, w: PAIR(x, w).sum())):
        name = type(value).__name__
        is_refused("PTX0859", f"'W' is a {name}, expected a torch, JAX or NumPy", call, X, value)


def test_numpy_arrays_of_64_bits_are_what_jax_makes_of_them() -> None:
    w, targets = np.asarray(W, np.float64), np.zeros(4, np.int64)
    np.testing.assert_array_equal(PAIR(X, w), X * W)
    narrow = jax.grad(lambda x: rms_norm(x, W).sum())(X)
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: rms_norm(x, w).sum()))(X), narrow)
    np.testing.assert_array_equal(swiglu(X, np.asarray(X, np.float64)), swiglu(X, X))
    expected = cross_entropy(X, jnp.zeros(4, np.int32))
    np.testing.assert_array_equal(cross_entropy(X, targets), expected)
    np.testing.assert_array_equal(jax.jit(lambda x: cross_entropy(x, targets))(X), expected)


def test_numbers_that_a_program_computes() -> None:
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1))
    def scale(X: Any, Y: Any, *, factor: Any = 2.0) -> None:
        scaled_copy(X, Y, float(factor))

    pair = differentiable_kernel(scale, lambda x, g, *, factor: scale(g, factor=factor))
    for function in (scale, pair):
        np.testing.assert_array_equal(function(W, factor=jnp.float32(3)), 3 * W)
        static = jax.jit(lambda x, a, f=function: f(x, factor=a), static_argnums=1)
        np.testing.assert_array_equal(static(W, 3.0), 3 * W)
        message = r"template parameter 'factor' is traced by JAX.*static in jax\.jit"
        is_refused("PTX0859", message, jax.jit(lambda x, a, f=function: f(x, factor=a)), W, 3.0)
    gradient = jax.grad(lambda x: pair(x, factor=jnp.float32(3)).sum())(W)
    np.testing.assert_array_equal(gradient, 3)


def test_a_gradient_of_what_takes_memory() -> None:
    def written(x: Any) -> Any:
        return PAIR(x, W, out=jnp.zeros((4, 32)))

    np.testing.assert_array_equal(jax.jit(written)(X), X * W)
    np.testing.assert_array_equal(jax.jit(lambda x: PAIR(x, W, out=x))(X), X * W)
    stopped = jax.grad(lambda x: (x * written(jax.lax.stop_gradient(x))).sum())(X)
    np.testing.assert_array_equal(stopped, X * W)
    for way in (lambda f: f, jax.jit):
        called = way(jax.grad(lambda x: written(x).sum()))
        is_refused("PTX0862", "out= keeps no record for gradients, .* drop out=", called, X)
    donated = jax.jit(lambda x: PAIR(x, W, out=x), donate_argnums=0).lower(X).compile().as_text()
    assert "output_to_operand_aliasing" in donated


def test_64_bits_that_jax_has_not() -> None:
    @kernel(in_specs=(Tile(8, s64), Tile(8, f32)), out_specs=(Tile(8, f32),))
    def wide(X: Any, Y: Any, Z: Any) -> None:
        ptx.ret()

    pair = differentiable_kernel(wide, lambda x, y, g: (None, g))
    x, y = np.ones(8, np.int64), jnp.ones(8)
    for call in (wide, pair, jax.jit(wide)):
        message = "'X' is an array of int32, expected int64, which .* unless .*jax_enable_x64"
        is_refused("PTX0865", message, call, jnp.asarray(x), y)
    for call in (wide, pair, jax.jit(lambda y: pair(x, y)), jax.jit(lambda y: wide(x, y))):
        message = "'X' is a NumPy array of int64, of which JAX makes int32 unless .*jax_enable_x64"
        args = (x, y) if call in (wide, pair) else (y,)
        is_refused("PTX0865", message, call, *args)


def test_gradients_have_the_types_of_their_inputs() -> None:
    def backward(x: Any, w: Any, g: Any) -> Any:
        return (g * w).astype("bfloat16"), np.ones(32)

    dx, dw = jax.grad(lambda x, w: pair_of(backward)(x, w).sum(), argnums=(0, 1))(X, jnp.ones(32))
    assert (dx.dtype, dw.dtype) == (jnp.float32, jnp.float32)
    np.testing.assert_array_equal(dx, 1)
    np.testing.assert_array_equal(dw, 1)


def test_a_gradient_of_another_shape() -> None:
    wrong = pair_of(lambda x, w, g: (g, g))
    message = r"returned an array of shape \(4, 32\) as the gradient of 'W', .* shape \(32,\)"
    for way in (lambda f: f, jax.jit, jax.vmap):
        args = (X[None], W[None]) if way is jax.vmap else (X, W)
        is_refused("PTX0862", message, way(jax.grad(lambda x, w: wrong(x, w).sum())), *args)
    is_refused("PTX0862", message, jax.grad(lambda x: wrong(x, W).sum()), X)
