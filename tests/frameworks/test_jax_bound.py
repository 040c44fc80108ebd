# SPDX-License-Identifier: Apache-2.0
"""Bound and loaded kernels on JAX arrays, and what NumPy arrays become beside them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import LaunchError, Layout, Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, f64, u32
from support.packages import need
from support.sample_kernels import build_row_scale, build_vector_add
from support.sized_kernels import twice
from support.typed_kernels import build_sum

jax = need("jax")
jnp = jax.numpy


def scaled(**options: Any) -> Any:
    """y = alpha * x, alpha a scalar of the launch."""

    @kernel(
        in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1),
        raw_params=[("f32", "alpha")], **options,
    )  # fmt: skip
    def scale(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        place = reg.from_(ptx.special.tid.x(), u32) * 4
        value, alpha = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.param.f32(alpha, ptx.addr("alpha"))
        ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
        ptx.inst.mul.f32(value, value, alpha)
        ptx.inst.st.global_.f32(ptx.addr(py + place), value)
        ptx.ret()

    return scale


def settled_kernels(k: Any, tmp_path: Path, *examples: Any, **keywords: Any) -> list[Any]:
    path = tmp_path / "kernel.pyptx"
    k.save(path, *examples, **keywords)
    bound = k.bind(*examples, **keywords)
    return [bound, pyptx.load(path), pickle.loads(pickle.dumps(bound))]


def test_eagerly_and_in_programs(tmp_path: Path) -> None:
    x = jnp.arange(40, dtype="f4")
    for settled in settled_kernels(build_vector_add(), tmp_path, x, x):
        for function in (
            settled,
            jax.jit(settled),
            jax.jit(lambda x, y, settled=settled: settled(x, y) * 1),
        ):
            for _ in range(2):
                got = function(x, x + 1)
                assert isinstance(got, jax.Array)
                np.testing.assert_array_equal(got, 2 * x + 1)
        np.testing.assert_array_equal(settled(np.asarray(x), x), 2 * x)
        np.testing.assert_array_equal(jax.vmap(settled)(x[None], x[None]), 2 * x[None])
        with pytest.raises(ValueError, match=r"has shape \(39,\), it was bound to \(40,\)"):
            settled(x[1:], x[1:])
        with pytest.raises(TypeError, match="has dtype s32"):
            jax.jit(settled)(x, x.astype("i4"))
        with pytest.raises(TypeError, match="has 2 inputs"):
            settled(x)
        with pytest.raises(LaunchError, match="cannot be differentiated"):
            jax.grad(lambda x, settled=settled: settled(x, x).sum())(x)


def test_outputs_take_the_memory_of_arrays(tmp_path: Path) -> None:
    x = jnp.arange(40, dtype="f4")
    for settled in settled_kernels(build_vector_add(), tmp_path, x, x):
        donated = jnp.zeros(40)
        np.testing.assert_array_equal(settled(x, x, out=donated), 2 * x)
        assert donated.is_deleted()
        with pytest.raises(ValueError, match=r"has shape \(4,\)"):
            settled(x, x, out=jnp.zeros(4))


def test_scalars_of_a_launch_are_constants_of_a_program(tmp_path: Path) -> None:
    x = jnp.arange(32, dtype="f4")
    for settled in settled_kernels(scaled(), tmp_path, x, alpha=2.0):
        np.testing.assert_array_equal(settled(x), 2 * x)
        for alpha in (3.0, 4.0, 3.0):
            np.testing.assert_array_equal(settled(x, alpha=alpha), alpha * x)
        jitted = jax.jit(lambda x, settled=settled: settled(x, alpha=5.0))
        np.testing.assert_array_equal(jitted(x), 5 * x)
        np.testing.assert_array_equal(settled(np.asarray(x), alpha=6.0), 6 * x)
        with pytest.raises(LaunchError, match="traced by JAX"):
            jax.jit(lambda x, a, settled=settled: settled(x, alpha=a))(x, 2.0)


def test_columns_and_types(tmp_path: Path) -> None:
    columns = Tile(4, 8, f32, Layout.COL)

    @kernel(in_specs=(Tile(4, 8, f32),), out_specs=(columns,), block=(32, 1, 1))
    def transposed(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        place = reg.from_(ptx.special.tid.x(), u32)
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + place * 4))
        to = (place & 7) * 4 + (place >> 3)
        ptx.inst.st.global_.f32(ptx.addr(py + to * 4), value)
        ptx.ret()

    x = jnp.arange(32, dtype="f4").reshape(4, 8)
    for settled in settled_kernels(transposed, tmp_path, x):
        np.testing.assert_array_equal(settled(x), x)
        np.testing.assert_array_equal(jax.jit(settled)(x), x)
    x = jnp.ones((2, 8), "bfloat16")
    for settled in settled_kernels(build_sum(), tmp_path, x, x):
        assert settled(x, x).dtype == jnp.bfloat16


def test_what_cannot_be_bound() -> None:
    k = build_row_scale()
    x, w = jnp.ones((3, 32)), jnp.ones(32)
    assert k.bind(x, w).device == "cpu"
    with pytest.raises(TypeError, match=r"bind outside of jax\.jit"):
        jax.jit(lambda x: k.bind(x, w)(x, w))(x)

    @kernel(in_specs=(Tile(4, f32),))
    def nothing(X: Any) -> None:
        ptx.ret()

    bound = nothing.bind(np.zeros(4, "f4"))
    with pytest.raises(LaunchError, match="a JAX array is never written in place"):
        bound(jnp.zeros(4))


def test_numpy_arrays_of_64_bits_are_what_jax_makes_of_them() -> None:
    k = build_vector_add()
    x = jnp.arange(8, dtype="f4")
    double = np.arange(8, dtype="f8") + 1 / 3
    assert not jax.config.jax_enable_x64
    np.testing.assert_array_equal(k(x, double), jnp.add(x, double))
    assert build_sum()(jnp.ones((1, 8)), np.ones((1, 8))).dtype == jnp.float32

    @kernel(in_specs=(Tile(8, f64), Tile(8, f32)), out_specs=(Tile(8, f32),))
    def wide(X: Any, Y: Any, Z: Any) -> None:
        ptx.ret()

    with pytest.raises(
        LaunchError,
        match=r"'X' is a NumPy array of float64, of which JAX makes float32.*jax_enable_x64",
    ) as caught:
        wide(double, x)
    assert caught.value.diagnostics[0].code == "PTX0865"
    with pytest.raises(LaunchError, match="jax_enable_x64"):
        jax.jit(lambda x: wide(double, x))(x)
    with jax.enable_x64(True):
        assert wide(double, x).dtype == jnp.float32


def test_a_pair_of_bound_kernels() -> None:
    bound = twice.bind(np.ones(8, np.float32))
    pair = differentiable_kernel(bound, lambda x, g: bound(g), save_for_backward=[0])
    gradient = jax.grad(lambda x: pair(x).sum())
    x = jax.numpy.ones(8)
    for function in (gradient, jax.jit(gradient)):
        assert (function(x) == 2).all()
