# SPDX-License-Identifier: Apache-2.0
"""Tiles: construction, matching, symbolic dimensions, and the choices for wgmma operands."""

from __future__ import annotations

import pytest

from pyptx.specs import Layout, Tile, unify_envs
from pyptx.types import bf16, e4m3, f32, s32, u32


def test_positional_parts_in_any_usual_order() -> None:
    tile = Tile("M", "K", bf16, Layout.COL)
    assert (tile.dims, tile.dtype_name, tile.layout) == (("M", "K"), "bf16", Layout.COL)
    assert Tile(16, 512, f32).resolve_shape({}) == (16, 512)
    assert Tile("M", dtype=f32, layout=Layout.ROW) == Tile("M", f32)
    assert Tile("M", f32) != Tile("M", bf16)


def test_symbolic_dims_bind_and_resolve() -> None:
    tile = Tile("M", 64, "M", "N", f32)
    assert tile.rank == 4
    assert tile.symbolic_dims == ("M", "N")
    assert tile.extract_env((3, 64, 3, 5)) == {"M": 3, "N": 5}
    assert tile.resolve_shape({"M": 3, "N": 5, "other": 1}) == (3, 64, 3, 5)
    with pytest.raises(ValueError, match="'M' is both 3 and 4"):
        tile.extract_env((3, 64, 4, 5))
    with pytest.raises(ValueError, match="dimension 1 is 65, not 64"):
        tile.extract_env((3, 65, 3, 5))
    with pytest.raises(ValueError, match="expected 4 dimensions"):
        tile.extract_env((3, 64))
    with pytest.raises(ValueError, match="no value for dimension 'N'"):
        tile.resolve_shape({"M": 3})


@pytest.mark.parametrize(
    ("shape", "dtype", "fits"),
    [
        ((4, 8), "f32", True),
        ((4, 8), "float32", True),
        ((4, 8), "torch.float32", True),
        ((4, 8), "f16", False),
        ((4, 9), "f32", False),
        ((4, 8, 1), "f32", False),
    ],
)
def test_matches(shape: tuple[int, ...], dtype: str, fits: bool) -> None:
    assert Tile("M", 8, f32).matches(shape, dtype) is fits


def test_untyped_bits_take_any_element_of_their_width() -> None:
    from pyptx.types import b32, tf32

    assert Tile("N", b32).matches((2,), "int32")
    assert Tile("N", b32).matches((2,), "float32")
    assert not Tile("N", b32).matches((2,), "float64")
    assert Tile("N", tf32).matches((2,), "float32")
    assert Tile("N", u32).matches((2,), "int32")  # signed integers are all that torch adds
    assert not Tile("N", s32).matches((2,), "uint32")
    assert not Tile("N", u32).matches((2,), "int16")
    assert Tile("N").matches((2,), "anything")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (("M", 1.5, f32), "not 1.5"),
        (("M N", f32), "is not a name"),
        ((-1, f32), "negative"),
        (("M", f32, bf16), "two element types"),
    ],
)
def test_refused(bad: tuple[object, ...], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Tile(*bad)


def test_refused_tma_options() -> None:
    with pytest.raises(ValueError, match="tma_box"):
        Tile("M", "K", bf16, tma_box=(64,))
    with pytest.raises(ValueError, match="tma_rank=3"):
        Tile("M", "K", "L", bf16, tma_rank=3)
    with pytest.raises(ValueError, match="tma_padding"):
        Tile("M", "K", bf16, tma_padding=True)


@pytest.mark.parametrize(
    ("dtype", "tile_k", "layout", "box"),
    [
        (bf16, 64, Layout.TMA_128B, (128, 64)),
        (bf16, 128, Layout.TMA_128B, (128, 64)),
        (bf16, 32, Layout.TMA_64B, (128, 32)),
        (bf16, 16, Layout.TMA_32B, (128, 16)),
        (bf16, 8, Layout.ROW, (128, 8)),
        (e4m3, 128, Layout.TMA_128B, (128, 128)),
        (f32, 32, Layout.TMA_128B, (128, 32)),
    ],
)
def test_wgmma_operand_layout(
    dtype: object, tile_k: int, layout: Layout, box: tuple[int, int]
) -> None:
    tile = Tile.wgmma_a("M", "K", dtype, tile_m=128, tile_k=tile_k)
    assert (tile.dims, tile.layout, tile.tma_box) == (("M", "K"), layout, box)


def test_wgmma_defaults() -> None:
    assert Tile.wgmma_a("M", "K", bf16).tma_box == (64, 64)
    assert Tile.wgmma_b("K", "N", bf16, tile_k=64, tile_n=256).tma_box == (64, 64)
    narrow = Tile.wgmma_b(16, 32, bf16)
    assert (narrow.layout, narrow.tma_box) == (Layout.TMA_64B, (16, 32))


def test_unify_envs() -> None:
    assert unify_envs([{"M": 1}, {"M": 1, "N": 2}]) == {"M": 1, "N": 2}
    with pytest.raises(ValueError, match="'M' is both 1 and 2"):
        unify_envs([{"M": 1}, {"M": 2}])
