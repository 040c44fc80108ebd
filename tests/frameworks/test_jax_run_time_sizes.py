# SPDX-License-Identifier: Apache-2.0
"""Sizes that a launch brings, in JAX: one trace and one assembly, and nothing that adds up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import cache, differentiable_kernel
from pyptx._kept import Kept
from support.packages import need

jax = need("jax")

from pyptx._jax import call_site  # noqa: E402
from support import jax_endurance  # noqa: E402

SIZES = range(1, 201)


def array(size: int) -> Any:
    return jax.ShapeDtypeStruct((size,), np.float32)


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The images that programs have got."""
    seen: list[Any] = []
    calling = call_site.calling

    def recording(image: Any, *rest: Any) -> Any:
        seen.append(image)
        return calling(image, *rest)

    monkeypatch.setattr(call_site, "calling", recording)
    return seen


def traces(k: Any) -> int:
    return len(k.specializer._traces)


def test_one_trace_and_one_assembly_serve_two_hundred_sizes(
    images: list[Any], tmp_path: Path
) -> None:
    k = jax_endurance.build_double()
    program = jax.jit(k)
    for size in SIZES:
        text = program.lower(array(size)).as_text()
        assert f"tensor<{size}xf32>" in text
    assert len({image.hash for image in images}) == len(SIZES)  # grids and sizes are theirs
    assert traces(k) == len({image.ptx for image in images}) == 1
    kept = [call_site._attributes(image)["ptx"] for image in images]
    assert len({id(text) for text in kept}) == 1  # not a text for each
    cache.set_global_cache(cache.CubinCache(str(tmp_path)))
    try:
        cubins = {bytes(image.cubin()) for image in images}
        kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    finally:
        cache.set_global_cache(None)
    assert (len(cubins), len(kept)) == (1, 1)
    for size in (1, 31, 200):
        np.testing.assert_array_equal(program(np.arange(size, dtype="f4")), 2 * np.arange(size))
    assert traces(k) == 1


def test_so_it_is_under_grad_and_vmap() -> None:
    k = jax_endurance.build_double()
    pair = differentiable_kernel(k, lambda x, g: k(g), save_for_backward=[0])
    for size in (3, 4, 5):
        x = jax.numpy.arange(size, dtype="f4")
        np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: pair(x).sum()))(x), 2.0)
        np.testing.assert_array_equal(jax.jit(jax.vmap(k))(x[None] + x[:, None])[1], 2 * x + 2)
    assert traces(k) == 1


def test_two_thousand_sizes_leave_nothing_of_ours() -> None:
    assert jax_endurance.prepare_sizes(2000) < 1024


def test_many_sizes_stay_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are small here, so that they are full; 2,000 sizes are in jax_endurance.py."""
    monkeypatch.setattr(call_site, "MOST_KEPT", 32)
    monkeypatch.setattr(call_site, "_calls", Kept(32))
    jax_endurance.run_sizes(60, eager=20)
    assert jax_endurance.run_sizes(200, eager=60) < jax_endurance.MOST_LEFT
    assert len(call_site._calls) == 32


def test_many_steps_leave_nothing_behind() -> None:
    assert jax_endurance.run_steps(60) < jax_endurance.MOST_LEFT
