# SPDX-License-Identifier: Apache-2.0
"""Calls on JAX arrays outside of jit: what answers after the first, and when it must not."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from pyptx import LaunchError, Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32
from support.packages import need
from support.sample_kernels import build_row_scale, build_vector_add, scaled_copy

jax = need("jax")

from pyptx._jax import call_site, gradients  # noqa: E402


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls that are bound and specialised in Python."""
    seen: list[Any] = []
    prepare = call_site.Site.prepare

    def recording(site: Any, shapes: Any, dtypes: Any) -> Any:
        seen.append(shapes)
        return prepare(site, shapes, dtypes)

    monkeypatch.setattr(call_site.Site, "prepare", recording)
    return seen


@pytest.mark.parametrize("options", [{}, {"batch": "N"}])
def test_a_shape_is_bound_once(options: Any, bound: list[Any]) -> None:
    k = build_vector_add(**options)
    for size in (8, 9):
        x = jax.numpy.arange(size, dtype="f4")
        np.testing.assert_array_equal(k(x, x), 2 * x)
        np.testing.assert_array_equal(k(x, x), 2 * x)
        bound.clear()
        for _ in range(3):
            np.testing.assert_array_equal(k(x, x + 1), 2 * x + 1)
        assert bound == []


def test_what_the_body_reads_may_change() -> None:
    factor = [2.0]

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1))
    def scale(X: Any, Y: Any) -> None:
        scaled_copy(X, Y, factor[0])

    x = jax.numpy.arange(32, dtype="f4")
    for value in (2.0, 3.0, 2.0, 4.0):
        factor[0] = value
        for _ in range(3):
            np.testing.assert_array_equal(scale(x), value * x)


def test_keywords_are_told_apart() -> None:
    seen = []

    @kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), block=(4, 1, 1))
    def fill(X: Any, Y: Any, *, value: Any = 1.0, sizes: Any = ()) -> None:
        seen.append(value)
        (py,) = ptx.global_ptrs(Y)
        place = py + reg.from_(ptx.special.tid.x(), u32) * 4
        written = float(value + len(sizes)) if sizes else float(value)
        ptx.inst.st.global_.f32(ptx.addr(place), reg.scalar(f32, init=written))
        ptx.ret()

    x = jax.numpy.zeros(4)
    for _ in range(3):
        for value in (1.0, 2.0, 0.0, -0.0, 3, True):
            got = np.asarray(fill(x, value=value))
            np.testing.assert_array_equal(got, np.full(4, float(value), "f4"))
            assert np.signbit(got[0]) == np.signbit(value)
        assert fill(x)[0] == 1
        sizes = [1]
        assert fill(x, sizes=sizes)[0] == 2
        sizes.append(2)  # the same object
        assert fill(x, sizes=sizes)[0] == 3
    with pytest.raises(LaunchError, match="unknown keyword"):
        fill(x, values=1)


def test_other_arrays_are_bound_anew() -> None:
    k = build_vector_add()
    x = jax.numpy.ones(8)
    k(x, x)
    k(x, x)
    with pytest.raises(LaunchError, match="argument 'Y' has shape"):
        k(x, jax.numpy.ones(9))
    with pytest.raises(LaunchError, match="has dtype int32"):
        k(x, jax.numpy.ones(8, "i4"))
    with pytest.raises(LaunchError, match="takes 2 inputs"):
        k(x)
    with pytest.raises(LaunchError, match="expected a torch, JAX or NumPy array"):
        k(x, [1.0] * 8)
    np.testing.assert_array_equal(k(x, np.ones(8, "f4")), 2 * x)
    np.testing.assert_array_equal(k(np.ones(8, "f4"), np.ones(8, "f4")), np.full(8, 2.0))
    donated = jax.numpy.zeros(8)
    np.testing.assert_array_equal(k(x, x, out=donated), 2 * x)
    assert donated.is_deleted()
    np.testing.assert_array_equal(k(x, x), 2 * x)


def test_a_pair_is_its_forward_where_nothing_is_differentiated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    k = build_row_scale()
    pair = differentiable_kernel(k, lambda x, w, g: (k(g, w), (g * x).sum(0)))
    x, w = jax.numpy.ones((3, 32)), jax.numpy.arange(32, dtype="f4")
    np.testing.assert_array_equal(jax.grad(lambda x: pair(x, w).sum())(x), k(x, w))
    monkeypatch.setattr(gradients, "function_of", lambda *_: pytest.fail("wrapped"))
    pair._jax_functions.clear()
    for _ in range(2):
        np.testing.assert_array_equal(pair(x, w), k(x, w))
    np.testing.assert_array_equal(jax.jit(lambda: pair(x, w))(), k(x, w))


def test_transformations_see_the_kernel() -> None:
    k = build_row_scale(2.0, batch="B")
    x, w = jax.numpy.ones((3, 32)), jax.numpy.arange(32, dtype="f4")
    for _ in range(2):
        np.testing.assert_array_equal(k(x, w), 2 * x * w)
    np.testing.assert_array_equal(jax.jit(k)(x, w), 2 * x * w)
    np.testing.assert_array_equal(jax.vmap(k, (0, None))(x[None], w), (2 * x * w)[None])
    with pytest.raises(LaunchError, match="cannot be differentiated"):
        jax.grad(lambda x: k(x, w).sum())(x)
    with jax.disable_jit():
        np.testing.assert_array_equal(k(x, w), 2 * x * w)


def test_a_kernel_that_reads_what_cannot_be_compared_is_traced_each_time() -> None:
    numbers = iter(range(100))

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1))
    def scale(X: Any, Y: Any) -> None:
        scaled_copy(X, Y, float(next(numbers)))

    x = jax.numpy.ones(32)
    with pytest.warns(UserWarning, match="numbers"):
        got = [float(scale(x)[0]) for _ in range(4)]
    assert got == sorted(set(got))


def test_kernels_die() -> None:
    k = build_vector_add()
    x = jax.numpy.ones(8)
    for _ in range(3):
        k(x, x)
    gone = weakref.ref(k)
    del k
    gc.collect()
    jax.clear_caches()
    gc.collect()
    assert gone() is None
