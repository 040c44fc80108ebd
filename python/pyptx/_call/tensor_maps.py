# SPDX-License-Identifier: Apache-2.0
"""Tensor maps from tiles: which dimensions, strides, box and swizzle a descriptor gets.

The result is a description in words (`_core.TensorMap`); encoding it for a device, or for the
emulator, is the driver layer's work, at the launch, when the address is known.
"""

from __future__ import annotations

from typing import Any

from pyptx import _core
from pyptx._call.element_types import element_bits
from pyptx.specs import Layout, Tile

VIEW_WIDTH = 64  # elements of the innermost dimension of the rank-3 view
PADDED_WIDTH = 72
_DEFAULT_EDGE = 64


def default_box(shape: tuple[int, ...], dtype: str, layout: Layout) -> tuple[int, ...]:
    """One swizzle span wide and 64 rows high, within the tensor; 1 in further dimensions."""
    if layout is Layout.COL:
        return default_box(shape[::-1], dtype, Layout.ROW)[::-1]
    span = layout.swizzle_bytes * 8 // element_bits(dtype) or _DEFAULT_EDGE
    inner = span if layout.swizzle_bytes else min(shape[-1], span)
    rows = [min(size, _DEFAULT_EDGE) for size in shape[-2:-1]]
    return (*(1 for _ in shape[:-2]), *rows, inner)


def tensor_map(tile: Tile, shape: tuple[int, ...], dtype: str) -> Any:
    """Return the map over a tensor of that shape, as `tile` asks for it."""
    if not shape:
        raise ValueError("a tensor map needs a dimension")
    if tile.tma_rank == 3:
        box = tile.tma_box or default_box(shape, dtype, Layout.ROW)
        return view_map(shape, dtype, box, tile.layout.swizzle_bytes, tile.tma_padding)
    box = tile.tma_box or default_box(shape, dtype, tile.layout)
    return flat_map(shape, dtype, box, tile.layout)


def flat_map(shape: tuple[int, ...], dtype: str, box: tuple[int, ...], layout: Layout) -> Any:
    """Return the map over a dense tensor; the driver's order is innermost first."""
    if layout is Layout.COL:  # the first dimension is the contiguous one
        shape, box = shape[::-1], box[::-1]
    dims = list(shape[::-1])
    strides = []
    stride = element_bits(dtype) // 8
    for size in dims[:-1]:
        stride *= size
        strides.append(stride)
    return _core.TensorMap(dtype, dims, strides, list(box[::-1]), _swizzle(layout))


def view_map(
    shape: tuple[int, ...], dtype: str, box: tuple[int, ...], swizzle_bytes: int, padding: bool
) -> Any:
    """Return the map over a (rows, cols) matrix seen as (64 elements, rows, cols/64)."""
    rows, cols = shape
    if cols % VIEW_WIDTH or box[1] % VIEW_WIDTH:
        raise ValueError(
            f"a rank-3 tensor map needs columns in multiples of {VIEW_WIDTH}: "
            f"the matrix has {cols}, the box {box[1]}"
        )
    size = element_bits(dtype) // 8
    inner = PADDED_WIDTH if padding else VIEW_WIDTH
    dims = [VIEW_WIDTH, rows, cols // VIEW_WIDTH]
    edges = [inner, box[0], box[1] // VIEW_WIDTH]
    swizzle = f"{swizzle_bytes}B" if swizzle_bytes else "none"
    return _core.TensorMap(dtype, dims, [cols * size, VIEW_WIDTH * size], edges, swizzle)


def _swizzle(layout: Layout) -> str:
    return f"{layout.swizzle_bytes}B" if layout.swizzle_bytes else "none"
