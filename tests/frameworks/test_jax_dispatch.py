# SPDX-License-Identifier: Apache-2.0
"""Kernels in JAX programs: jit, grad, vmap, and the handle-based functions.

On the CPU platform the FFI target runs the emulator; the same tests run on a GPU where JAX has one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import Layout, Tile, _core, differentiable_kernel, jax_support, kernel, ptx
from pyptx._errors import LaunchError
from pyptx.types import bf16, f32, s64
from support import sample_kernels, seed_pages
from support.example_modules import example
from support.packages import need

jax = need("jax")
RNG = np.random.default_rng(0)


def randn(*shape: int) -> Any:
    return jax.numpy.asarray(RNG.standard_normal(shape, dtype=np.float32))


def test_target_is_registered() -> None:
    assert jax_support.ensure_ffi_registered() is True
    assert jax_support.ensure_ffi_registered() is True
    assert jax_support.shim_is_available()
    assert jax_support.shim_load_error() is None


def test_the_launcher_is_there_where_jax_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    assert jax_support.shim_is_available()
    assert jax_support.ensure_ffi_registered() is False


def test_eager_and_jit() -> None:
    k = sample_kernels.build_rms_norm(8, 64)
    x, w = randn(8, 64), randn(64)
    x64, w64 = np.asarray(x, np.float64), np.asarray(w, np.float64)
    expected = x64 / np.sqrt((x64 * x64).mean(-1, keepdims=True) + 1e-6) * w64
    np.testing.assert_allclose(k(x, w), expected, rtol=1e-5, atol=1e-5)
    jitted = jax.jit(lambda x, w: k(x * 1.0, w) + 0.0)
    for _ in range(2):
        np.testing.assert_allclose(jitted(x, w), expected, rtol=1e-5, atol=1e-5)


def test_shapes_are_bound_per_call_site() -> None:
    k = sample_kernels.build_vector_add()
    jitted = jax.jit(k)
    for n in (5, 128, 300):
        a, b = randn(n), randn(n)
        np.testing.assert_array_equal(jitted(a, b), np.asarray(a) + np.asarray(b))
        np.testing.assert_array_equal(jitted(a, np.asarray(b)), np.asarray(a) + np.asarray(b))


def test_the_program_carries_the_kernel_itself() -> None:
    k = sample_kernels.build_vector_add()
    text = jax.jit(k).lower(randn(64), randn(64)).as_text()
    assert "pyptx_launch" in text
    assert ".visible .entry vector_add" in text
    assert not re.search(r"cubin_handle", text)


@pytest.mark.parametrize("batch", [None, "B"])
def test_a_compiled_program_runs_no_python_of_ours(batch: str | None) -> None:
    k = sample_kernels.build_row_scale(2.0, batch=batch)
    jitted = jax.jit(lambda x, w: k(x, w) + 1)
    x, w = randn(4, 32), randn(32)
    jitted(x, w).block_until_ready()
    called: list[str] = []
    sys.setprofile(lambda frame, *_: called.append(frame.f_code.co_filename))
    try:
        result = jitted(x, w).block_until_ready()
    finally:
        sys.setprofile(None)
    package = str(Path(kernel.__code__.co_filename).parent)
    assert [name for name in called if name.startswith(package)] == []
    np.testing.assert_array_equal(result, np.asarray(x) * np.asarray(w) * 2 + 1)


def test_grad() -> None:
    m, n = 3, 32
    op = differentiable_kernel(
        sample_kernels.build_my_forward(m, n), sample_kernels.build_my_backward(m, n)
    )
    x, w, weight = randn(m, n), randn(n), randn(m, n)

    def loss(f: Any, x: Any, w: Any) -> Any:
        return (f(x, w) * weight).sum()

    ours = jax.jit(jax.value_and_grad(lambda x, w: loss(op, x, w), argnums=(0, 1)))(x, w)
    reference = jax.value_and_grad(lambda x, w: loss(lambda a, b: a * b, x, w), argnums=(0, 1))(
        x, w
    )
    for got, expected in zip(jax.tree.leaves(ours), jax.tree.leaves(reference), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_grad_beyond_num_grad_inputs_is_zero() -> None:
    op = differentiable_kernel(
        sample_kernels.build_my_forward(2, 32),
        sample_kernels.build_my_backward(2, 32),
        num_grad_inputs=1,
    )
    grads = jax.grad(lambda x, w: op(x, w).sum(), argnums=(0, 1))(randn(2, 32), randn(32))
    assert np.abs(np.asarray(grads[0])).max() > 0
    np.testing.assert_array_equal(grads[1], 0)


def test_column_major_arrays_are_given_in_that_order() -> None:
    from pyptx import kernel, ptx, reg
    from pyptx.types import u32

    @kernel(
        in_specs=(Tile(2, 32, f32, Layout.COL),),
        out_specs=(Tile(64, f32),),
        block=(64, 1, 1),
    )
    def flatten(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        offset = reg.from_(ptx.special.tid.x(), u32) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
        ptx.inst.st.global_.f32(ptx.addr(py + offset), value)
        ptx.ret()

    x = randn(2, 32)
    expected = np.asarray(x).T.ravel()
    np.testing.assert_array_equal(jax.jit(flatten)(x), expected)
    np.testing.assert_array_equal(flatten(np.asfortranarray(np.asarray(x))), expected)


def test_vmap_runs_one_call_per_row() -> None:
    k = sample_kernels.build_vector_add()
    a, b = randn(3, 40), randn(3, 40)
    np.testing.assert_array_equal(jax.vmap(k)(a, b), np.asarray(a) + np.asarray(b))


def test_bad_calls_raise_while_tracing() -> None:
    k = sample_kernels.build_vector_add()
    with pytest.raises(LaunchError, match="argument 'Y' has shape"):
        jax.jit(k)(randn(8), randn(9))
    with pytest.raises(LaunchError, match="dtype"):
        jax.jit(k)(randn(8), randn(8).astype("int32"))


# --- the kernel page ----------------------------------------------------------------------------

JIT_BLOCK = """@jax.jit
def fwd(x, w):
    return gemm(x, w)
"""


def test_the_page_has_the_jit_block() -> None:
    page = seed_pages.PAGES / "kernel.txt"
    if not page.is_file():
        pytest.skip("the reference pages are not here")
    assert JIT_BLOCK in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("tma", ["pointer", "value"])
def test_jit_block(tma: str) -> None:
    names = {"jax": jax, "gemm": example("hopper/gemm").build_gemm(tma=tma)}
    exec(JIT_BLOCK, names)
    x, w = randn(130, 64).astype("bfloat16"), randn(40, 64).astype("bfloat16")
    expected = np.asarray(x, np.float64) @ np.asarray(w, np.float64).T
    for _ in range(2):
        np.testing.assert_allclose(names["fwd"](x, w), expected, rtol=1e-5, atol=1e-4)


# --- the handle-based functions -----------------------------------------------------------------


def test_registry_and_records() -> None:
    registry = jax_support.get_cubin_registry()
    assert registry is jax_support.get_cubin_registry()
    handle = registry.register(".visible .entry k() {}", "k", grid=(2, 1, 1))
    other = registry.register("", "k")
    assert handle != other
    record = registry.get(handle)
    assert record == jax_support.CubinRecord(handle, ".visible .entry k() {}", "k", grid=(2, 1, 1))
    assert (record.cu_function, record.module, record.cubin_bytes) == (None, None, None)
    assert registry.get(10**9) is None
    own = jax_support.CubinRegistry()
    kept = own.register("", "k")
    own.clear()
    assert own.get(kept) is None
    assert registry.get(handle) is record


def test_call_by_handle() -> None:
    n = 300
    text = sample_kernels.build_vector_add().ptx(N=n)
    grid, block = (3, 1, 1), (128, 1, 1)
    handle = jax_support.get_cubin_registry().register(text, "vector_add", grid=grid, block=block)
    jax_support.register_launch_config(handle, 0, grid, block)
    a, b = randn(n), randn(n)
    launch = {
        "out_specs": [Tile("N", f32)],
        "out_shape_env": {"N": n},
        "grid": grid,
        "block": block,
    }
    out = jax.jit(
        lambda a, b: jax_support.call_kernel_via_ffi(a, b, cubin_handle=handle, **launch)
    )(a, b)
    np.testing.assert_array_equal(out, np.asarray(a) + np.asarray(b))


def test_a_function_without_its_text_runs_where_it_was_loaded() -> None:
    n, grid, block = 300, (3, 1, 1), (128, 1, 1)
    on_gpu = _core.driver_status()[0] and jax.default_backend() == "gpu"
    loaded = (1, None)
    if on_gpu:
        text = sample_kernels.build_vector_add().ptx(N=n)
        loaded = jax_support.compile_ptx_to_cubin(text, "sm_90a")
    handle = 70_000 + n  # the caller's own number
    jax_support.register_launch_config(handle, loaded[0], grid, block)
    a, b = randn(n), randn(n)
    launch = {"out_specs": [Tile("N", f32)], "out_shape_env": {"N": n}}

    def run() -> Any:
        call = jax.jit(
            lambda a, b: jax_support.call_kernel_via_ffi(
                a, b, cubin_handle=handle, grid=grid, block=block, **launch
            )
        )
        return jax.block_until_ready(call(a, b))

    if on_gpu:
        np.testing.assert_array_equal(run(), np.asarray(a) + np.asarray(b))
    else:
        with pytest.raises(Exception, match=f"{handle}.*run on the CPU"):
            run()


def test_mock_callback_replaces_the_call() -> None:
    calls = []
    jax_support.set_mock_ffi_callback(lambda *inputs, **launch: calls.append((inputs, launch)) or 5)
    try:
        launch = {"out_specs": [], "out_shape_env": {}, "grid": (1, 1, 1), "block": (1, 1, 1)}
        assert jax_support.call_kernel_via_ffi(1, 2, cubin_handle=9, **launch) == 5
    finally:
        jax_support.set_mock_ffi_callback(None)
    assert calls[0][0] == (1, 2)
    assert calls[0][1]["cubin_handle"] == 9


def test_compile_without_driver_answers_none() -> None:
    text = sample_kernels.build_scale(2.0).ptx()
    compiled = jax_support.compile_ptx_to_cubin(text, "sm_90a")
    if _core.driver_status()[0]:
        assert compiled is not None
        assert compiled[0] != 0
    else:
        assert compiled is None


def test_descriptors() -> None:
    host, host_pointer, device_pointer = jax_support.synthesize_tma_descriptor(
        (128, 256), bf16, Layout.TMA_128B
    )
    assert host_pointer % 64 == 0
    assert (device_pointer != 0) == (_core.device_count() > 0)
    assert host.map.box_bytes == 64 * 128
    cube, _, _ = jax_support.synthesize_tma_descriptor_3d(256, 512, bf16, 128, 128)
    assert cube.map.box_bytes == 128 * 128 * 2
    padded, _, _ = jax_support.synthesize_tma_descriptor_3d(
        256, 512, bf16, 128, 64, swizzle_128b=False, padding=True
    )
    assert padded.map.box_bytes == 128 * 72 * 2
    with pytest.raises(ValueError, match="multiples of 64"):
        jax_support.synthesize_tma_descriptor_3d(256, 100, bf16, 128, 64)


def test_an_unknown_descriptor_is_refused() -> None:
    handle = jax_support.get_cubin_registry().register("", "k")
    with pytest.raises(LaunchError, match="no tensor map lives at"):
        jax_support.add_tma_spec_to_shim(handle, 0, 0x1234, 0)


def test_without_jax_the_answers_are_false_and_none() -> None:
    code = """
import sys
sys.modules["jax"] = None
sys.modules["torch"] = None
import pyptx.jax_support as j
assert j.ensure_ffi_registered() is False
assert j.get_cubin_registry().get(1) is None
import pyptx.torch_support as t
assert t.is_torch_tensor(1) is False and t.any_torch_tensors([1]) is False
print("fine")
"""
    env = {"PYTHONPATH": ":".join(p for p in sys.path if p), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env
    )
    assert done.stdout.strip() == "fine", done.stderr


def test_numpy_arrays_that_jax_narrows_are_seen_narrowed() -> None:
    # Otherwise the kernel would read 8-byte elements from a buffer of 4-byte ones.
    @kernel(
        in_specs=(Tile("N", f32), Tile("N", s64)),
        out_specs=(Tile("N", f32),),
        grid=(1, 1, 1),
        block=(1, 1, 1),
    )
    def mixed(X, Z, Y):
        ptx.ret()

    with pytest.raises(
        LaunchError, match=r"'Z' is a NumPy array of int64, of which JAX makes int32"
    ):
        mixed(jax.numpy.ones(4), np.ones(4, np.int64))


def test_a_scalar_by_handle_is_an_integer() -> None:
    handle = jax_support.get_cubin_registry().register("", "k")
    jax_support.add_scalar_param_to_shim(handle, np.int64(3))
    with pytest.raises(TypeError, match="the bits of a float"):
        jax_support.add_scalar_param_to_shim(handle, 1.5)  # type: ignore[arg-type]
