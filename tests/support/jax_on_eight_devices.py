# SPDX-License-Identifier: Apache-2.0
"""Programs for eight devices, run by test_jax_sharding.py in a process that has them.

Each `check_*` compares what several devices computed with what one did, here bit for bit. Prints
one line of JSON: the name of each check, and "" or what went wrong. As many real devices do too.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from typing import Any

if __name__ == "__main__":  # before JAX looks at its devices
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count=8"

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from pyptx import LaunchError, differentiable_kernel
from pyptx._jax import call_site
from support import sample_kernels, sums_on_eight_devices, transformer_on_eight_devices
from support.eight_devices import COLUMNS, RNG, ROWS, W, X, gathers, mesh_of, put

batched = sample_kernels.build_row_scale(1.5, batch="B")
whole = sample_kernels.build_row_scale(1.5)


def on_one_device(*args: Any, function: Any = batched) -> np.ndarray:
    device = jax.devices()[0]
    return np.asarray(jax.jit(function)(*(jax.device_put(x, device) for x in args)))


def check_shard_map() -> None:
    expected = on_one_device(X, W)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        x, w = put(mesh, X, "d"), put(mesh, W)
        for k in (batched, whole):
            mapped = jax.shard_map(k, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"))
            np.testing.assert_array_equal(jax.jit(mapped)(x, w), expected)
            np.testing.assert_array_equal(mapped(x, w), expected)


def check_shard_map_without_checks() -> None:
    mesh = mesh_of(AxisType.Auto)
    mapped = jax.shard_map(
        batched, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"), check_vma=False
    )
    np.testing.assert_array_equal(jax.jit(mapped)(X, W), on_one_device(X, W))


def check_jit_divides_the_batch() -> None:
    expected = on_one_device(X, W)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        x, w = put(mesh, X, "d"), put(mesh, W)
        function = jax.jit(lambda x, w: batched(x, w))
        got = function(x, w)
        np.testing.assert_array_equal(got, expected)
        assert got.sharding.shard_shape(got.shape) == (ROWS // 8, COLUMNS), got.sharding
        assert not gathers(function, x, w)
        np.testing.assert_array_equal(batched(x, w), expected)  # eagerly
        if kind == AxisType.Explicit:  # can be exported: the call, and no callback of this process
            text = function.lower(x, w).as_text()
            assert "pyptx_launch" in text
            assert "CustomSPMDPartitioning" not in text


def check_a_bound_kernel() -> None:
    """It is for one shape, which is that of the whole array, or in a shard_map of a part."""
    bound, part = whole.bind(X, W), whole.bind(X[: ROWS // 8], W)
    expected = on_one_device(X, W)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        x, w = put(mesh, X, "d"), put(mesh, W)
        np.testing.assert_array_equal(jax.jit(bound)(x, w), expected)
        mapped = jax.shard_map(part, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"))
        np.testing.assert_array_equal(jax.jit(mapped)(x, w), expected)
        stacked = put(mesh, np.stack([X] * 8), "d")
        several = jax.jit(jax.vmap(bound, in_axes=(0, None)))
        if kind == AxisType.Auto:
            np.testing.assert_array_equal(several(stacked, w)[7], expected)
        else:
            with pytest.raises(LaunchError, match="mapped over an axis that is divided over 'd'"):
                several(stacked, w)


def check_jit_without_a_batch_is_whole() -> None:
    expected = on_one_device(X, W)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        np.testing.assert_array_equal(jax.jit(whole)(put(mesh, X, "d"), put(mesh, W)), expected)


def check_other_shardings() -> None:
    expected = on_one_device(X, W)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind, (2, 4))
        for spec, rows in (
            ((("d", "e"),), 4),
            (("e",), 8),
            ((None, "d"), 32),
            (("d", "e"), 16),
            ((), 32),
        ):
            got = jax.jit(lambda x, w: batched(x, w))(put(mesh, X, *spec), put(mesh, W))
            np.testing.assert_array_equal(got, expected)
            assert got.sharding.shard_shape(got.shape)[0] == rows, (spec, got.sharding)


def check_a_weight_that_is_sharded() -> None:
    mesh = mesh_of(AxisType.Auto)
    got = jax.jit(batched)(put(mesh, X, "d"), put(mesh, W, "d"))
    np.testing.assert_array_equal(got, on_one_device(X, W))


def check_a_constraint_on_the_result() -> None:
    mesh = mesh_of(AxisType.Auto)

    def function(x: Any, w: Any) -> Any:
        return jax.lax.with_sharding_constraint(batched(x, w), NamedSharding(mesh, P("d")))

    got = jax.jit(function)(put(mesh, X), put(mesh, W))
    np.testing.assert_array_equal(got, on_one_device(X, W))


def check_rows_that_do_not_divide() -> None:
    mesh = mesh_of(AxisType.Auto)
    sharded = jax.jit(
        lambda x, w: (
            jax.lax.with_sharding_constraint(batched(x[:30] + 1, w), NamedSharding(mesh, P("d")))
            * 2
        )
    )
    expected = on_one_device(X, W, function=lambda x, w: batched(x[:30] + 1, w) * 2)
    np.testing.assert_array_equal(sharded(put(mesh, X, "d"), put(mesh, W)), expected)


def check_vmap_of_sharded_arrays() -> None:
    mesh = mesh_of(AxisType.Auto)
    stacked = np.stack([X, X + 1])
    mapped = jax.vmap(batched, in_axes=(0, None))
    expected = on_one_device(stacked, W, function=mapped)
    got = jax.jit(mapped)(put(mesh, stacked, None, "d"), put(mesh, W))
    np.testing.assert_array_equal(got, expected)


def check_vmap_over_explicit_axes() -> None:
    stacked = RNG.standard_normal((8, 4, COLUMNS), dtype=np.float32)
    for shape, spec in (((8,), ("d",)), ((8,), (None, None, "d")), ((2, 4), ("d", "e"))):
        mesh = mesh_of(AxisType.Explicit, shape)
        x, w = put(mesh, stacked, *spec), put(mesh, W)
        for k in (batched, whole):
            mapped = jax.vmap(k, in_axes=(0, None))
            expected = on_one_device(stacked, W, function=mapped)
            for function in (mapped, jax.jit(mapped), jax.vmap(jax.jit(k), in_axes=(0, None))):
                got = function(x, w)
                np.testing.assert_array_equal(got, expected)
                assert jax.typeof(got).sharding.spec[:2] == jax.typeof(x).sharding.spec[:2]
        with jax.set_mesh(mesh):
            np.testing.assert_array_equal(jax.vmap(batched, in_axes=(0, None))(x, w), expected)
    mesh = mesh_of(AxisType.Explicit)
    program = jax.jit(jax.vmap(batched, in_axes=(0, None)))
    assert not gathers(program, put(mesh, stacked, "d"), put(mesh, W))


def check_nested_vmap_over_explicit_axes() -> None:
    stacked = RNG.standard_normal((2, 4, 4, COLUMNS), dtype=np.float32)
    mesh = mesh_of(AxisType.Explicit, (2, 4))
    for k in (batched, whole):
        mapped = jax.jit(jax.vmap(jax.vmap(k, in_axes=(0, None)), in_axes=(0, None)))
        expected = on_one_device(stacked, W, function=mapped)
        for spec in (("d", "e"), (None, "e"), ("d", None, "e")):
            x = put(mesh, stacked, *spec)
            got = mapped(x, put(mesh, W))
            np.testing.assert_array_equal(got, expected)
            assert jax.typeof(got) == jax.typeof(x)


def check_vmap_in_a_shard_map() -> None:
    mesh = mesh_of(AxisType.Auto)
    stacked, weights = np.stack([X, X + 1]), np.stack([W, W + 1])
    for k, axes in ((batched, (0, None)), (batched, (0, 0)), (whole, (0, None))):
        w = W if axes[1] is None else weights
        function = jax.vmap(k, in_axes=axes)
        mapped = jax.shard_map(
            function, mesh=mesh, in_specs=(P(None, "d"), P()), out_specs=P(None, "d")
        )
        expected = on_one_device(stacked, w, function=function)
        np.testing.assert_array_equal(jax.jit(mapped)(stacked, w), expected)


def check_a_loop_of_calls() -> None:
    def function(x: Any, w: Any) -> Any:
        return jax.lax.scan(lambda x, _: (batched(x, w) + 1, None), x, length=3)[0]

    expected = on_one_device(X, W, function=function)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        x, w = put(mesh, X, "d"), put(mesh, W)
        np.testing.assert_array_equal(jax.jit(function)(x, w), expected)
        assert not gathers(jax.jit(function), x, w)


def check_axes_of_both_kinds() -> None:
    expected = on_one_device(X, W)
    mesh = jax.make_mesh((2, 4), ("d", "e"), axis_types=(AxisType.Explicit, AxisType.Auto))
    for k in (batched, whole):
        for spec in (("d",), ("d", "e"), (("d", "e"),)):
            got = jax.jit(lambda x, w, k=k: k(x, w))(put(mesh, X, *spec), put(mesh, W))
            np.testing.assert_array_equal(got, expected)


def check_out_on_several_devices() -> None:
    expected = on_one_device(X, W)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        x, w = put(mesh, X, "d"), put(mesh, W)
        donated = jax.jit(lambda x, w: batched(x, w, out=x), donate_argnums=0)
        np.testing.assert_array_equal(donated(x, w), expected)
        assert x.is_deleted()
        mapped = jax.shard_map(
            lambda x, w: batched(x, w, out=x), mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d")
        )
        np.testing.assert_array_equal(jax.jit(mapped)(put(mesh, X, "d"), w), expected)


def check_gradients_in_a_shard_map() -> None:
    def norm(rows: int) -> Any:
        return differentiable_kernel(
            sample_kernels.build_rms_norm(rows, COLUMNS),
            sample_kernels.build_rms_norm_backward(rows, COLUMNS),
        )

    def loss(x: Any, w: Any) -> Any:
        return (norm(x.shape[0])(x, w) ** 2).sum()

    def mean_loss(x: Any, w: Any) -> Any:
        return jax.lax.psum(loss(x, w), "d")

    expected = jax.grad(loss, argnums=(0, 1))(jax.numpy.asarray(X), jax.numpy.asarray(W))
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        mapped = jax.shard_map(mean_loss, mesh=mesh, in_specs=(P("d"), P()), out_specs=P())
        got = jax.jit(jax.grad(mapped, argnums=(0, 1)))(put(mesh, X, "d"), put(mesh, W))
        np.testing.assert_array_equal(got[0], expected[0])
        # The sum over devices has another order.
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-5, atol=1e-5)


def check_gradients_of_a_divided_jit() -> None:
    pair = differentiable_kernel(batched, lambda x, w, g: (batched(g, w), (1.5 * g * x).sum(0)))

    def loss(x: Any, w: Any) -> Any:
        return (pair(x, w) ** 2).sum()

    program = jax.jit(jax.grad(loss, argnums=(0, 1)))
    expected = program(jax.numpy.asarray(X), jax.numpy.asarray(W))
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = mesh_of(kind)
        got = program(put(mesh, X, "d"), put(mesh, W))
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-5, atol=1e-5)
        assert got[0].sharding.shard_shape(X.shape)[0] == ROWS // 8


def check_gradients_on_explicit_meshes() -> None:
    """Types of gradients are those of the inputs, whether a kernel can be divided or not."""
    add = sample_kernels.build_vector_add
    x, y = RNG.standard_normal((2, 8, 16), dtype=np.float32)
    mesh = mesh_of(AxisType.Explicit)
    for k in (add(), add(batch="N")):
        pair = differentiable_kernel(k, lambda x, y, g, k=k: (k(g, g), g * y))
        mapped = jax.vmap(pair)

        def gradients(function: Any) -> Any:
            return jax.grad(lambda x, y: (function(x, y) ** 2).sum(), argnums=(0, 1))

        for function, args, specs in (
            (gradients(pair), (x[0], y[0]), ("d", "d")),
            (gradients(pair), (x[0], y[0]), ("d", None)),
            (gradients(mapped), (x, y), ("d", "d")),
            (jax.vmap(gradients(pair)), (x, y), ("d", "d")),
        ):
            program = jax.jit(function)
            given = [put(mesh, v, spec) for v, spec in zip(args, specs, strict=True)]
            expected = program(*map(jax.numpy.asarray, args))
            for got, want, v in zip(program(*given), expected, given, strict=True):
                np.testing.assert_array_equal(got, want)
                assert jax.typeof(got) == jax.typeof(v)


def check_types_of_results() -> None:
    """As the dimensions of the same names, so that a loop can carry them."""
    x, y = RNG.standard_normal((2, 64), dtype=np.float32)
    mesh = mesh_of(AxisType.Explicit)
    for options in ({}, {"batch": "N"}):
        k = sample_kernels.build_vector_add(**options)
        expected = on_one_device(x, y, function=k)
        for other in (put(mesh, y, "d"), put(mesh, y), jax.numpy.asarray(y)):
            got = k(put(mesh, x, "d"), other, N=64)
            np.testing.assert_array_equal(got, expected)
            assert jax.typeof(got).sharding.spec == P("d")
        loop = jax.jit(lambda x, y, k=k: jax.lax.fori_loop(0, 2, lambda _, x: k(x, y), x))
        got = loop(put(mesh, x, "d"), put(mesh, y))
        np.testing.assert_array_equal(got, expected + y)


def check_an_eager_call_is_traced_once() -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("traced again")

    mesh = mesh_of(AxisType.Explicit)
    x, w = put(mesh, X, "d"), put(mesh, W)
    for k in (batched, whole):
        k(x, w)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(call_site.Site, "launch", refuse)
            k(x, w)


def check_a_kernel_alone_has_no_gradient() -> None:
    w = jax.numpy.asarray(W)
    for k in (batched, whole):
        for function in (jax.grad, lambda loss: jax.jit(jax.grad(loss))):
            with pytest.raises(LaunchError, match=r"row_scale.*differentiable_kernel"):
                function(lambda x, k=k: k(x, w).sum())(jax.numpy.asarray(X))


def check_ordered_among_collectives() -> None:
    """Kernels between collectives, many times: a device that waits must not hold up another."""
    mesh = mesh_of(AxisType.Auto)

    def step(x: Any, w: Any) -> Any:
        for _ in range(4):
            x = batched(x, w)
            x = x / jax.lax.pmax(jax.numpy.abs(x).max(), "d")
        return x

    mapped = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d")))
    first = np.asarray(mapped(X, W))
    for _ in range(10):
        np.testing.assert_array_equal(mapped(X, W), first)


CHECKS: dict[str, Callable[[], None]] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}
CHECKS |= sums_on_eight_devices.CHECKS | transformer_on_eight_devices.CHECKS


def main() -> None:
    """Run every check and print what came of it."""
    assert jax.device_count() >= 8, jax.devices()
    results = {}
    for name, check in CHECKS.items():
        try:
            check()
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
