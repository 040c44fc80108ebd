# SPDX-License-Identifier: Apache-2.0
"""Outputs that are sums over the batch, on eight devices: checks of jax_on_eight_devices.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from pyptx import differentiable_kernel
from pyptx.kernels import layer_norm, rms_norm
from support.eight_devices import RNG, ROWS, W, X, collectives, mesh_of, put
from support.partial_kernels import build_weighted, build_weighted_backward


def check_sums_over_the_batch() -> None:
    """A step of training moves one thing between devices: the gradient of the weight, summed."""
    forward, backward = build_weighted(), build_weighted_backward()
    pair = differentiable_kernel(forward, backward)

    def loss(x: Any, w: Any) -> Any:
        return (pair(x, w) ** 2).sum()

    def step(x: Any, w: Any) -> Any:
        return w - 0.125 * jax.grad(loss, argnums=1)(x, w)

    x, w = jax.numpy.asarray(X), jax.numpy.asarray(W)
    expected = jax.grad(loss, argnums=(0, 1))(x, w)
    wanted = step(x, w)
    for kind in (AxisType.Auto, AxisType.Explicit):
        for shape, spec, parts in (
            ((8,), ("d",), 8),
            ((2, 4), (("d", "e"),), 8),
            ((2, 4), ("e",), 4),
        ):
            mesh = mesh_of(kind, shape)
            given = put(mesh, X, *spec), put(mesh, W)
            got = jax.jit(jax.grad(loss, argnums=(0, 1)))(*given)
            np.testing.assert_array_equal(got[0], expected[0])
            np.testing.assert_allclose(got[1], expected[1], rtol=1e-5, atol=1e-5)
            assert got[0].sharding.shard_shape(X.shape)[0] == ROWS // parts
            assert got[1].sharding.is_fully_replicated
            program = jax.jit(step)
            np.testing.assert_allclose(program(*given), wanted, rtol=1e-5, atol=1e-5)
            moved = collectives(program, *given)
            assert moved == {"all-reduce": 1}, (kind, spec, moved)
            again = jax.jit(lambda x, w, g: backward(x, w, g))(*given, given[0])
            np.testing.assert_allclose(again[1], (X * X).sum(0), rtol=1e-5, atol=1e-5)
        whole = jax.jit(step)(put(mesh, X), put(mesh, W))
        np.testing.assert_allclose(whole, wanted, rtol=1e-5, atol=1e-5)


def check_sums_over_the_batch_in_a_shard_map_and_a_vmap() -> None:
    pair = differentiable_kernel(build_weighted(), build_weighted_backward())

    def loss(x: Any, w: Any) -> Any:
        return (pair(x, w) ** 2).sum()

    x, w = jax.numpy.asarray(X), jax.numpy.asarray(W)
    expected = jax.grad(loss, argnums=(0, 1))(x, w)
    stacked = np.stack([X, X + 1, X + 2, X + 3])
    several = jax.vmap(jax.grad(loss, argnums=(0, 1)), in_axes=(0, None))
    expected_several = several(jax.numpy.asarray(stacked), w)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        mapped = jax.shard_map(
            lambda x, w: jax.lax.psum(loss(x, w), "d"),
            mesh=mesh,
            in_specs=(P("d"), P()),
            out_specs=P(),
        )
        program = jax.jit(jax.grad(mapped, argnums=(0, 1)))
        got = program(put(mesh, X, "d"), put(mesh, W))
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-5, atol=1e-5)
        for spec in ((None, "d"), (None, None), (None, None, "d")):
            got = jax.jit(several)(put(mesh, stacked, *spec), put(mesh, W))
            np.testing.assert_allclose(got[0], expected_several[0], rtol=1e-6)
            np.testing.assert_allclose(got[1], expected_several[1], rtol=1e-5, atol=1e-5)


def check_gradients_of_norms() -> None:
    """Of two kernels each, divided together: the weights' gradients are all that moves."""
    x, y = RNG.standard_normal((2, ROWS, 256), dtype=np.float32)
    w, b = RNG.standard_normal((2, 256), dtype=np.float32)

    def with_residual(x: Any, y: Any, w: Any) -> Any:
        normal, total = rms_norm(x, w, residual=y)
        return normal * total

    for function, args in (
        (rms_norm, (x, w)),
        (layer_norm, (x, w, b)),
        (with_residual, (x, y, w)),
    ):
        every = tuple(range(len(args)))

        def loss(*args: Any, function: Any = function) -> Any:
            return (function(*args) ** 2).sum()

        program = jax.jit(jax.grad(loss, argnums=every))
        expected = program(*map(jax.numpy.asarray, args))
        for kind in (AxisType.Auto, AxisType.Explicit):
            for shape, spec in (((8,), "d"), ((2, 4), "e")):
                mesh = mesh_of(kind, shape)
                given = [put(mesh, v, *([spec] if v.ndim == 2 else [])) for v in args]
                moved = collectives(program, *given)
                assert moved == {"all-reduce": 1}, (function, kind, moved)
                for got, want in zip(program(*given), expected, strict=True):
                    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
        stacked = [np.stack([v, v + 1]) for v in args]
        several = jax.vmap(jax.grad(loss, argnums=every))
        wanted = several(*map(jax.numpy.asarray, stacked))
        mesh = mesh_of(AxisType.Auto)
        given = [put(mesh, v, *([None, "d"] if v.ndim == 3 else [])) for v in stacked]
        for got, want in zip(jax.jit(several)(*given), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


CHECKS: dict[str, Callable[[], None]] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}
