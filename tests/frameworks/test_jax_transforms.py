# SPDX-License-Identifier: Apache-2.0
"""Kernels under JAX's transformations on one device: vmap, donation, shapes, and what is refused.

What several devices do is in test_jax_sharding.py, what other processes do in
test_jax_processes.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import Layout, Tile, _core, differentiable_kernel, jax_support, kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx._kept import Kept
from pyptx.types import f32, f64, u32
from support import sample_kernels
from support.example_modules import example
from support.packages import need

jax = need("jax")
from pyptx._jax import call_site  # noqa: E402

RNG = np.random.default_rng(0)


def randn(*shape: int) -> Any:
    return jax.numpy.asarray(RNG.standard_normal(shape, dtype=np.float32))


def launches(function: Any, *args: Any) -> int:
    """How many kernel calls the traced program contains; one in a loop counts once."""
    return str(jax.make_jaxpr(function)(*args)).count("pyptx_launch[")


@pytest.fixture(scope="module")
def batched() -> Any:
    return sample_kernels.build_row_scale(batch="B")


@pytest.fixture(scope="module")
def plain() -> Any:
    return sample_kernels.build_row_scale()


def test_calls_of_a_batched_kernel_share_one_function() -> None:
    k = sample_kernels.build_row_scale(batch="B")
    for rows in (2, 2, 3):
        k(randn(rows, 32), randn(32))
    assert len(k.jax_functions) == 1


# --- vmap ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_vmap_of_a_batched_kernel_is_one_launch(batched: Any, plain: Any, axis: int) -> None:
    x, w = randn(3, 5, 32), randn(32)
    rows = jax.numpy.moveaxis(x, 0, axis)
    for k in (batched, plain):
        got = jax.vmap(k, in_axes=(axis, None))(rows, w)
        np.testing.assert_array_equal(got, np.asarray(x) * np.asarray(w))
    mapped = jax.vmap(batched, in_axes=(axis, None))
    assert launches(mapped, rows, w) == 1
    assert "scan" not in str(jax.make_jaxpr(mapped)(rows, w))
    assert "scan" in str(jax.make_jaxpr(jax.vmap(plain, in_axes=(axis, None)))(rows, w))


def test_vmap_over_what_has_no_batch_dimension_is_a_loop(batched: Any) -> None:
    x, w = randn(3, 5, 32), randn(3, 32)
    expected = np.asarray(x) * np.asarray(w)[:, None]
    np.testing.assert_array_equal(jax.vmap(batched)(x, w), expected)
    shared = jax.vmap(batched, in_axes=(None, 0))(x[0], w)
    np.testing.assert_array_equal(shared, np.asarray(x[0]) * np.asarray(w)[:, None])
    assert "scan" in str(jax.make_jaxpr(jax.vmap(batched))(x, w))


def test_nested_vmap(batched: Any) -> None:
    x, w = randn(2, 3, 5, 32), randn(32)
    inner = jax.vmap(batched, in_axes=(0, None))
    outer = jax.vmap(inner, in_axes=(1, None), out_axes=1)
    np.testing.assert_array_equal(outer(x, w), np.asarray(x) * np.asarray(w))
    assert launches(outer, x, w) == 1
    # A loop outside, one launch inside.
    weights = randn(2, 32)
    expected = np.asarray(x) * np.asarray(weights)[:, None, None]
    np.testing.assert_array_equal(jax.jit(jax.vmap(inner))(x, weights), expected)


def test_vmap_with_an_unmapped_batch_and_other_axes() -> None:
    @kernel(
        in_specs=(Tile(4, "N", f32), Tile("N", f32)),
        out_specs=(Tile(4, "N", f32), Tile("N", f32)),
        grid=lambda N: (N,),
        block=(4, 1, 1),
        batch="N",
    )
    def columns(X, Y, Z, T):
        px, py, pz, pt = ptx.global_ptrs(X, Y, Z, T)
        count = X.shape[1]
        column = reg.from_(ptx.special.ctaid.x(), u32)
        offset = (reg.from_(ptx.special.tid.x(), u32) * count + column) * 4
        a, b = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(a, ptx.addr(px + offset))
        ptx.inst.ld.global_.f32(b, ptx.addr(py + column * 4))
        ptx.inst.add.f32(a, a, b)
        ptx.inst.st.global_.f32(ptx.addr(pz + offset), a)
        ptx.inst.st.global_.f32(ptx.addr(pt + column * 4), b)
        ptx.ret()

    x, y = randn(3, 4, 6), randn(6)
    z, t = jax.vmap(columns, in_axes=(0, None))(x, y)
    np.testing.assert_array_equal(z, np.asarray(x) + np.asarray(y))
    np.testing.assert_array_equal(t, np.broadcast_to(y, (3, 6)))
    assert launches(jax.vmap(columns, in_axes=(0, None)), x, y) == 1


def test_vmap_over_nothing(batched: Any) -> None:
    assert jax.vmap(batched, in_axes=(0, None))(randn(0, 5, 32), randn(32)).shape == (0, 5, 32)


def test_a_dimension_given_by_keyword_holds_for_the_call_that_was_written(batched: Any) -> None:
    x, w = randn(3, 5, 32), randn(32)
    got = jax.vmap(lambda x: batched(x, w, B=5))(x)
    np.testing.assert_array_equal(got, np.asarray(x) * np.asarray(w))
    with pytest.raises(LaunchError, match=r"B=4 was given, but the arguments' shapes say B = 5"):
        jax.vmap(lambda x: batched(x, w, B=4))(x)


def test_an_eager_call_of_a_batched_kernel_is_traced_once(batched: Any, monkeypatch: Any) -> None:
    x, w = randn(7, 32), randn(32)
    batched(x, w)
    monkeypatch.setattr(call_site.Site, "launch", lambda *_: pytest.fail("traced again"))
    np.testing.assert_array_equal(batched(x, w), np.asarray(x) * np.asarray(w))


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (((Tile("B", 4, f32),), (Tile(4, f32),)), "output 'Y' has no such dimension"),
        (((Tile("M", 4, f32),), (Tile("B", 4, f32),)), "no dimension of an input.*M, B"),
        (((Tile("B", "B", f32),), (Tile("B", f32),)), "twice in 'X'"),
        (((Tile(8, 4, f32),), (Tile(8, 4, f32),)), "output 'Y' has no such dimension"),
    ],
)
def test_a_batch_that_cannot_be_one_is_refused(specs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):

        @kernel(in_specs=specs[0], out_specs=specs[1], batch="B")
        def bad(X, Y):
            ptx.ret()


# --- gradients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["rms_norm", "layer_norm"])
def test_gradients_of_the_norms_are_those_of_finite_differences(norm: str) -> None:
    from jax.test_util import check_grads

    module = example(f"hopper/{norm}")
    make, make_backward = (getattr(module, f"build_{norm}{end}") for end in ("", "_backward"))
    with jax.enable_x64(True):
        forward = make(2, 32, dtype=f64)
        op = differentiable_kernel(
            forward, make_backward(2, 32, dtype=f64), save_for_backward=(0, 1)
        )
        x, w, b = (jax.numpy.asarray(RNG.standard_normal(s)) for s in [(2, 2, 32), (32,), (32,)])
        rest = (w, b)[: len(forward.in_specs) - 1]
        mapped = jax.jit(jax.vmap(op, in_axes=(0, *(None for _ in rest))))
        check_grads(mapped, (x, *rest), order=1, modes=["rev"])


def test_a_kernel_alone_has_no_gradient(batched: Any, plain: Any) -> None:
    for k in (batched, plain):
        with pytest.raises(LaunchError, match=r"'row_scale' cannot be diff.*differentiable_kernel"):
            jax.grad(lambda x, k=k: k(x, randn(32)).sum())(randn(5, 32))


# --- out=: a result in the memory of an array ---------------------------------------------------


@pytest.mark.parametrize("is_batched", [False, True])
def test_out_takes_an_arrays_memory(is_batched: bool, batched: Any, plain: Any) -> None:
    k = batched if is_batched else plain
    w = randn(32)
    x, other = randn(6, 32), randn(6, 32)
    expected, kept = np.asarray(x) * np.asarray(w), np.array(x)
    place = other.unsafe_buffer_pointer()
    got = k(x, w, out=other)
    np.testing.assert_array_equal(got, expected)
    assert got.unsafe_buffer_pointer() == place
    assert other.is_deleted()
    np.testing.assert_array_equal(x, kept)
    place = x.unsafe_buffer_pointer()
    got = k(x, w, out=x)
    np.testing.assert_array_equal(got, expected)
    assert got.unsafe_buffer_pointer() == place
    assert x.is_deleted()


def test_out_in_a_jitted_function_needs_its_donation(batched: Any) -> None:
    x, w = randn(6, 32), randn(32)
    expected = np.asarray(x) * np.asarray(w)
    # The value is used again, so the compiler copies it first.
    got, after = jax.jit(lambda x, w: (batched(x, w, out=x), x + 1))(x, w)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(after, np.asarray(x) + 1)
    assert not x.is_deleted()
    place = x.unsafe_buffer_pointer()
    donated = jax.jit(lambda x, w: batched(x, w, out=x), donate_argnums=0)
    got = donated(x, w)
    np.testing.assert_array_equal(got, expected)
    assert got.unsafe_buffer_pointer() == place
    text = donated.lower(got, w).compile().as_text()
    assert "output_to_operand_aliasing" in text


def test_out_under_vmap(batched: Any, plain: Any) -> None:
    x, w, other = randn(3, 6, 32), randn(32), randn(3, 6, 32)
    for k in (batched, plain):
        mapped = jax.jit(jax.vmap(lambda x, o, k=k: k(x, w, out=o)))
        np.testing.assert_array_equal(mapped(x, other), np.asarray(x) * np.asarray(w))


def test_what_cannot_be_out(batched: Any) -> None:
    x, w = randn(6, 32), randn(32)
    with pytest.raises(LaunchError, match=r"output 'Y' has shape \(5, 32\), so B = 5"):
        batched(x, w, out=randn(5, 32))
    with pytest.raises(LaunchError, match="output 'Y' has dtype int32"):
        batched(x, w, out=randn(6, 32).astype("int32"))
    with pytest.raises(TypeError, match=r"out\[0\] is a NumPy array.*JAX cannot write it"):
        batched(x, w, out=np.zeros((6, 32), np.float32))

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32), Tile(32, f32)))
    def two(X, Y, Z):
        ptx.ret()

    with pytest.raises(LaunchError, match=r"out\[1\] is the array of another output"):
        two(w, out=(w, w))


@pytest.mark.parametrize("is_batched", [False, True])
def test_an_array_given_twice_cannot_be_out(is_batched: bool) -> None:
    k = sample_kernels.build_vector_add(**({"batch": "N"} if is_batched else {}))
    x = randn(8)
    expected = 2 * np.asarray(x)
    message = r"out\[0\] is the array of both arguments 'X' and 'Y'.*jnp\.copy\(\) of it as 'Y'"
    with pytest.raises(LaunchError, match=message):
        k(x, x, out=x)
    # The compiler copies what is read again.
    np.testing.assert_array_equal(jax.jit(lambda x: k(x, x, out=x))(x), expected)
    np.testing.assert_array_equal(k(x, jax.numpy.copy(x), out=x), expected)


# --- shapes -------------------------------------------------------------------------------------


def test_eval_shape_runs_nothing(batched: Any) -> None:
    x = jax.ShapeDtypeStruct((5, 32), jax.numpy.float32)
    got = jax.eval_shape(batched, x, randn(32))
    assert (got.shape, got.dtype) == ((5, 32), np.float32)
    with pytest.raises(LaunchError, match="expected shape"):
        jax.eval_shape(batched, x, randn(31))


@pytest.mark.parametrize("is_batched", [False, True])
def test_symbolic_sizes_of_the_trace_are_refused(
    is_batched: bool, batched: Any, plain: Any
) -> None:
    from jax import export

    (rows,) = export.symbolic_shape("rows")
    x = jax.ShapeDtypeStruct((rows, 32), jax.numpy.float32)
    program = jax.jit(batched if is_batched else plain)
    with pytest.raises(LaunchError, match=r"PTX0874.*dynamic=\('B',\)"):
        export.export(program)(x, randn(32))


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("is_batched", [False, True])
def test_bad_calls(is_batched: bool, batched: Any, plain: Any) -> None:
    k = jax.jit(batched if is_batched else plain)
    x, w = randn(5, 32), randn(32)
    for args, message in (
        ((x, w.astype("float16")), r"'W' has dtype float16 \(f16\), expected float32 \(f32\)"),
        ((x[0], w), r"'X': expected 2 dimensions \(B, 32\), got 1: \(32,\)"),
        ((x, w[:31]), r"'W': expected shape \(32,\), got \(31,\)"),
        ((x,), r"takes 2 inputs \(X, W\), got 1"),
    ):
        with pytest.raises(LaunchError, match=message):
            k(*args)


def test_64_bit_results_need_64_bit_jax() -> None:
    @kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f64),), block=(4, 1, 1))
    def widen(X, Y):
        ptx.ret()

    with pytest.raises(LaunchError, match="jax_enable_x64"):
        widen(randn(4))


def test_other_platforms_are_refused(batched: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    with pytest.raises(LaunchError, match="JAX platform 'tpu' cannot run PTX"):
        jax.make_jaxpr(lambda x, w: batched(x, w))(randn(5, 32), randn(32))


@pytest.fixture
def unregistered(monkeypatch: Any) -> None:
    """As in a process that has not called a kernel yet."""
    monkeypatch.setattr(call_site, "_registered", {})
    monkeypatch.setattr(call_site, "_calls", Kept(call_site.MOST_KEPT))


def is_refused(k: Any, message: str, rows: int) -> None:
    """Whether a call is, and the functions of jax_support say the same."""
    with pytest.raises(LaunchError, match=f"JAX cannot call kernels: .*{message}"):
        jax.jit(lambda x, w: k(x, w))(randn(rows, 32), randn(32))
    assert jax_support.ensure_ffi_registered() is False
    assert jax_support.shim_is_available() is False
    assert re.search(message, jax_support.shim_load_error() or "")


def test_a_jaxlib_that_is_too_old_is_refused(
    batched: Any, unregistered: None, monkeypatch: Any, tmp_path: Path
) -> None:
    major, minor = _core.xla_ffi_version()
    folder = tmp_path / "xla" / "ffi" / "api"
    folder.mkdir(parents=True)
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))

    def install(minor: int) -> None:
        lines = f"#define XLA_FFI_API_MAJOR {major}\n#define XLA_FFI_API_MINOR {minor}\n"
        (folder / "c_api.h").write_text(lines)

    install(minor - 1)
    calls: list[Any] = []
    monkeypatch.setattr(jax.ffi, "register_ffi_target", lambda *a, **_: calls.append(a))
    version = re.escape(jax.lib.__version__)
    is_refused(batched, rf"jaxlib {version} has {major}\.{minor - 1}; upgrade jaxlib", 11)
    assert calls == []  # JAX itself stays whole
    install(minor + 1)
    assert jax_support.ensure_ffi_registered() is True


def test_a_jaxlib_that_refuses_the_handlers_is_named(
    batched: Any, unregistered: None, monkeypatch: Any
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("duplicate registration")

    monkeypatch.setattr(jax.ffi, "register_ffi_target", refuse)
    version = re.escape(jax.lib.__version__)
    is_refused(batched, f"jaxlib {version} refused .* handlers: duplicate registration", 12)


def test_without_handlers_the_reason_is_given(
    batched: Any, unregistered: None, monkeypatch: Any
) -> None:
    def missing() -> None:
        raise ImportError("pyptx was built without XLA's headers")

    monkeypatch.setattr(_core, "xla_target_capsules", missing)
    is_refused(batched, "built without XLA's headers", 13)


def test_column_major_arrays_are_batched_too() -> None:
    @kernel(
        in_specs=(Tile("B", 4, f32, Layout.COL),),
        out_specs=(Tile("B", 4, f32, Layout.COL),),
        grid=lambda B: (B,),
        block=(4, 1, 1),
        batch="B",
    )
    def negate(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        offset = (reg.from_(ptx.special.tid.x(), u32) * X.shape[0] + row) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
        ptx.inst.neg.f32(value, value)
        ptx.inst.st.global_.f32(ptx.addr(py + offset), value)
        ptx.ret()

    x = randn(3, 5, 4)
    np.testing.assert_array_equal(jax.vmap(negate)(x), -np.asarray(x))
    assert launches(jax.vmap(negate), x) == 1
