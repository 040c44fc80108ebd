# SPDX-License-Identifier: Apache-2.0
"""`Tile(partial="B")`: outputs that are sums over the batch, where the batch is mapped.

What several devices do with them is in support/jax_on_eight_devices.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx
from pyptx._errors import Error
from pyptx.types import f32
from support.packages import need
from support.partial_kernels import COLUMNS, build_weighted_backward

torch = need("torch")


def expected(x: Any, w: Any, g: Any) -> Any:
    return g * w, (g * x).sum(-2)


def test_a_call_has_the_whole_sum() -> None:
    k = build_weighted_backward()
    x, g = torch.randn(2, 6, COLUMNS)
    w = torch.randn(COLUMNS)
    for got, want in zip(k(x, w, g), expected(x, w, g), strict=True):
        torch.testing.assert_close(got, want)


def test_vmap_in_torch_has_a_sum_for_each_element() -> None:
    k = build_weighted_backward()
    x, g = torch.randn(2, 3, 6, COLUMNS)
    w = torch.randn(COLUMNS)
    got = torch.vmap(k, in_dims=(0, None, 0))(x, w, g)
    for mine, want in zip(got, expected(x, w, g), strict=True):
        torch.testing.assert_close(mine, want)


def test_vmap_in_jax_has_a_sum_for_each_element() -> None:
    jax = need("jax")
    k = build_weighted_backward()
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 3, 6, COLUMNS), dtype="f4")
    w = rng.standard_normal(COLUMNS, dtype="f4")
    mapped = jax.vmap(k, in_axes=(0, None, 0))
    for function in (mapped, jax.jit(mapped)):
        for mine, want in zip(function(x, w, g), expected(x, w, g), strict=True):
            np.testing.assert_allclose(mine, want, rtol=1e-5, atol=1e-5)
    weights = np.stack([w, w + 1, w + 2])
    got = jax.vmap(k)(x, weights, g)
    np.testing.assert_allclose(got[0], g * weights[:, None], rtol=1e-5)


def test_what_a_tile_says() -> None:
    tile = Tile(4, f32, partial="B")
    assert tile.partial == "B"
    assert repr(tile) == "Tile(4, f32, partial='B')"
    assert eval(repr(tile)) == tile != Tile(4, f32)
    assert build_weighted_backward().signature.has_partial_outputs


@pytest.mark.parametrize(
    ("inputs", "outputs", "batch", "message"),
    [
        (Tile("B", 4, f32), Tile(4, f32), "B", r"say partial='B' if it is a sum over the batch"),
        (Tile("B", 4, f32), Tile(4, f32, partial="N"), "B", r"say kernel\(batch='N'\) too"),
        (Tile("B", 4, f32), Tile(4, f32, partial="B"), None, r"say kernel\(batch='B'\) too"),
        (Tile("B", f32, partial="B"), Tile("B", f32), "B", "input 'X': .*said of outputs alone"),
        (Tile("B", f32), Tile("B", f32, partial="B"), "B", "a sum over the batch has none of it"),
    ],
)
def test_sums_that_cannot_be(inputs: Any, outputs: Any, batch: Any, message: str) -> None:
    def body(X: Any, Y: Any) -> None:
        ptx.ret()

    with pytest.raises(Error, match=message) as caught:
        kernel(in_specs=(inputs,), out_specs=(outputs,), batch=batch)(body)
    assert caught.value.diagnostics[0].code == "PTX0854"


def test_partial_is_a_name() -> None:
    with pytest.raises(TypeError, match="partial is the name of a dimension"):
        Tile(4, f32, partial=True)
