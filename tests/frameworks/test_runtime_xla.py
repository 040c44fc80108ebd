# SPDX-License-Identifier: Apache-2.0
"""The XLA handlers under a real XLA: jax.ffi calls on the CPU platform run on the emulator."""

from __future__ import annotations

from typing import Any

import pytest

from support.packages import need

jax = need("jax")

import jax.numpy as jnp  # noqa: E402

from pyptx import _core  # noqa: E402
from support.add_image import ADD, add_image, add_plan  # noqa: E402

N = 96
TARGET = "pyptx_test_launch"


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    handlers = _core.xla_target_capsules()
    assert set(handlers) == {"CUDA", "cpu"}
    assert set(handlers["CUDA"]) == {"instantiate", "prepare", "execute"}
    jax.ffi.register_ffi_target(TARGET, handlers["cpu"], platform="cpu")


def call(x: Any, y: Any, n: int = N, **attributes: Any) -> Any:
    image = add_image(n)
    known = {"ptx": image.ptx, "target": image.target, "plan": image.plan.text, "hash": image.hash}
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.ffi.ffi_call(TARGET, shape)(x, y, **(known | attributes))


@pytest.fixture
def x() -> Any:
    # On the CPU also where the default device is a GPU: these are the CPU handlers.
    return jax.device_put(jnp.arange(N, dtype=jnp.float32), jax.devices("cpu")[0])


def test_eager_and_jit(x: Any) -> None:
    assert (call(x, 2 * x) == 3 * x).all()
    add = jax.jit(lambda a, b: call(call(a, b), b) * 2)
    assert (add(x, 2 * x) == 10 * x).all()
    assert (add(x + 1, x) == (3 * x + 1) * 2).all()


def test_the_program_carries_the_kernel(x: Any) -> None:
    text = jax.jit(call).lower(x, x).as_text()
    assert ".visible .entry kernel(" in text
    assert "cubin_handle" not in text


def test_a_wrong_size_is_xlas_error(x: Any) -> None:
    with pytest.raises(Exception, match=r"ld\.global\.f32"):
        jax.block_until_ready(call(x, x, N + 1))


def test_handles_of_this_process(x: Any) -> None:
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    by_handle = jax.ffi.ffi_call(TARGET, shape)
    assert (by_handle(x, x, cubin_handle=add_image(N).handle) == 2 * x).all()
    with pytest.raises(Exception, match="handle 987654"):
        jax.block_until_ready(by_handle(x, x, cubin_handle=987654))


def test_calls_that_are_not_whole_are_refused(x: Any) -> None:
    with pytest.raises(Exception, match="PTX0805"):
        jax.block_until_ready(call(x, x, hash="0" * 64))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    bare = jax.ffi.ffi_call(TARGET, shape)
    with pytest.raises(Exception, match="PTX0804"):
        jax.block_until_ready(bare(x, x, ptx=ADD, target="sm_90a", plan=add_plan(N).text))
