# SPDX-License-Identifier: Apache-2.0
"""Kernels under `jax.jvp` and what is made of it: refused in our words, wherever JAX gets to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyptx import LaunchError, differentiable_kernel
from pyptx.kernels import rms_norm
from support.packages import need
from support.sample_kernels import build_row_scale

jax = need("jax")
jnp = jax.numpy

X = jnp.linspace(0.5, 2, 3 * 32).reshape(3, 32)
W = jnp.linspace(1, 2, 32)
Function = Callable[..., Any]


def build_pair() -> Any:
    k = build_row_scale(batch="B")

    def backward(x: Any, w: Any, g: Any) -> Any:
        return k(g, w), (g * x).sum(0)

    return differentiable_kernel(k, backward)


PAIR = build_pair()


def squares(f: Function) -> Function:
    return lambda x: (f(x, W) ** 2).sum()


def repeated(f: Function) -> Function:
    """Two layers of the same weights."""
    return lambda x: jax.lax.scan(lambda x, _: (f(x, W), None), x, None, length=2)[0]


def tangents(f: Function) -> Function:
    return lambda x: jax.jvp(lambda x: f(x, W), (x,), (x,))


def on_a_mesh(f: Function) -> Function:
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.sharding.PartitionSpec("d")
    return jax.shard_map(lambda x: f(x, W), mesh=mesh, in_specs=(rows,), out_specs=rows)


FORWARD: dict[str, Callable[[Function], Function]] = {
    "jvp": tangents,
    "weights": lambda f: lambda x: jax.jvp(lambda w: f(x, w), (W,), (W,)),
    "jit": lambda f: jax.jit(tangents(f)),
    "of jit": lambda f: tangents(jax.jit(f)),
    "jacfwd": lambda f: jax.jacfwd(lambda x: f(x, W)),
    "jacfwd in jit": lambda f: jax.jit(jax.jacfwd(lambda x: f(x, W))),
    "linearize": lambda f: lambda x: jax.linearize(lambda x: f(x, W), x)[1](x),
    "hessian": lambda f: jax.hessian(squares(f)),
    "of grad": lambda f: lambda x: jax.jvp(jax.grad(squares(f)), (x,), (x,)),
    "in grad": lambda f: jax.grad(lambda x: tangents(f)(x)[1].sum()),
    "in grad in jit": lambda f: jax.jit(jax.grad(lambda x: tangents(f)(x)[1].sum())),
    "vmap": lambda f: lambda x: jax.vmap(tangents(f))(x[None]),
    "of vmap": lambda f: lambda x: tangents(jax.vmap(f, (0, None)))(x[None]),
    "remat": lambda f: jax.jit(tangents(jax.checkpoint(f))),
    "scan": lambda f: lambda x: jax.jvp(repeated(f), (x,), (x,)),
    "scan in jit": lambda f: jax.jit(jax.jacfwd(repeated(jax.checkpoint(f)))),
    "shard_map": lambda f: jax.jit(lambda x: jax.jvp(on_a_mesh(f), (x,), (x,))),
}  # fmt: skip


@pytest.mark.parametrize("way", FORWARD)
def test_forward_mode_is_refused(way: str) -> None:
    message = r"differentiable kernel 'row_scale' has no forward-mode.*jax\.jacrev\(jax\.jacrev"
    with pytest.raises(LaunchError, match=message) as caught:
        FORWARD[way](PAIR)(X)
    assert caught.value.diagnostics[0].code == "PTX0862"


def test_functions_of_the_library_say_the_same() -> None:
    with pytest.raises(LaunchError, match="'rms_norm' has no forward-mode derivative"):
        tangents(rms_norm)(X)


def test_a_kernel_alone_names_the_mode_that_a_pair_has() -> None:
    k = build_row_scale()
    for f in (k, k.bind(X, W), build_row_scale(batch="B")):
        with pytest.raises(LaunchError, match=r"reverse mode \(jax\.grad, .*differentiable_kernel"):
            tangents(f)(X)


REVERSE: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: jax.grad(squares(f)),
    "jit": lambda f: jax.jit(jax.grad(squares(f))),
    "of jit": lambda f: jax.grad(jax.jit(squares(f))),
    "jacrev": lambda f: jax.jit(jax.jacrev(lambda x: f(x, W).sum(0))),
    "vjp": lambda f: lambda x: jax.vjp(f, x, W)[1](x),
    "linearize and transpose": lambda f: (
        lambda x: jax.linear_transpose(jax.linearize(lambda x: f(x, W), x)[1], x)(x)
    ),
    "remat": lambda f: jax.grad(squares(jax.checkpoint(f))),
    "scan": lambda f: jax.grad(lambda x: (repeated(jax.checkpoint(f))(x) ** 2).sum()),
    "vmap": lambda f: lambda x: jax.vmap(jax.grad(squares(f)))(x[None]),
    "of vmap": lambda f: jax.grad(lambda x: jax.vmap(squares(f))(x[None]).sum()),
    "shard_map": lambda f: jax.grad(lambda x: (on_a_mesh(f)(x) ** 2).sum()),
    "twice": lambda f: jax.grad(lambda x: (jax.grad(squares(f))(x) ** 2).sum()),
}


@pytest.mark.parametrize("way", REVERSE)
def test_reverse_mode_is_not(way: str) -> None:
    # Whose gradient has one itself.
    scale = differentiable_kernel(PAIR.forward, lambda x, w, g: (PAIR(g, w), (g * x).sum(0)))
    got, want = (REVERSE[way](f)(X) for f in (scale, lambda x, w: x * w))
    for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_a_constant_has_no_tangent() -> None:
    value, tangent = jax.jvp(lambda x: x + PAIR(X, W), (X,), (X,))
    np.testing.assert_array_equal(tangent, X)
    np.testing.assert_allclose(value, X + X * W, rtol=1e-6)
