# SPDX-License-Identifier: Apache-2.0
"""The tensor boundary of a kernel: `Tile` says what one argument must look like.

A tile knows shapes, element types and memory layouts. It knows no framework, allocates nothing
and never looks at data.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyptx import _core
from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import is_read_by_dynamo, refuse
from pyptx.types import from_name

__all__ = ["Layout", "Tile", "unify_envs"]


class Layout(enum.Enum):
    """How a tensor lies in memory, and how a tensor map reads it.

    `ROW` and `COL` are the order of the elements: `COL` means the first dimension is contiguous.
    The `TMA_*` members are row-major memory that a tensor map copies with that swizzle;
    `INTERLEAVED` is row-major memory copied without one, for the no-swizzle matrix layout.
    """

    ROW = "row"
    COL = "col"
    TMA_128B = "tma_128b"
    TMA_64B = "tma_64b"
    TMA_32B = "tma_32b"
    INTERLEAVED = "interleaved"

    @property
    def swizzle_bytes(self) -> int:
        """Bytes of the swizzle span, 0 without swizzle."""
        return _SWIZZLE_BYTES.get(self, 0)

    def __repr__(self) -> str:
        """`Layout.ROW`, as it is written."""
        return f"Layout.{self.name}"


_SWIZZLE_BYTES = {Layout.TMA_128B: 128, Layout.TMA_64B: 64, Layout.TMA_32B: 32}


class Tile:
    """The shape, element type and layout of one tensor argument.

    `Tile("M", "K", bf16, Layout.ROW)`: dimensions are numbers or names, then the element type,
    then the layout; both may also be given by keyword. A tile without element type takes any.
    `dtype="T"` takes any too, but the same wherever the kernel's tiles say "T": a name of yours
    that begins with a capital letter, as no type does. `partial="B"` says that an output is a sum
    over the batch dimension B: values for the parts of a batch are added, not put together.
    `strides="dynamic"` takes tensors whose rows lie apart, as those of `x[:, :64]`: the last
    dimension is contiguous, and the other strides come with each launch (`X.strides`).
    `tma_box` is the box of one tensor copy in the order of the dimensions. `tma_rank=3` views
    a (rows, cols) matrix as (64 elements, rows, cols/64), so that a box can be wider than the
    swizzle span; `tma_padding` pads the inner box of that view to 72 elements.
    """

    __slots__ = (
        "_dtype_name",
        "dims",
        "dtype",
        "layout",
        "partial",
        "strides",
        "tma_box",
        "tma_padding",
        "tma_rank",
    )

    dims: tuple[int | str, ...]
    dtype: Any
    layout: Layout
    tma_box: tuple[int, ...] | None
    tma_rank: int
    tma_padding: bool
    partial: str | None
    strides: str | None

    def __init__(
        self,
        *dims_and_dtype: Any,
        dtype: Any = None,
        layout: Layout = Layout.ROW,
        tma_box: Sequence[int] | None = None,
        tma_rank: int = 2,
        tma_padding: bool = False,
        partial: str | None = None,
        strides: str | None = None,
    ) -> None:
        dims: list[int | str] = []
        for item in dims_and_dtype:
            if isinstance(item, Layout):
                layout = item
            elif _is_dtype(item):
                if dtype is not None:
                    both = f"{dtype.name} and {item.name}"
                    refuse("DeclarationType", "Tile", f"got two element types: {both}")
                dtype = item
            else:
                dims.append(_dimension(item))
        self.dims = tuple(dims)
        is_open = isinstance(dtype, str) and _core.is_type_name(dtype)
        self.dtype = dtype if is_open or not isinstance(dtype, str) else from_name(ptx_name(dtype))
        # Kept as text, which torch.compile can read; element types are objects of the core.
        self._dtype_name = None if self.dtype is None else ptx_name(self.dtype)
        self.layout = Layout(layout)
        self.tma_box = None if tma_box is None else tuple(int(edge) for edge in tma_box)
        self.tma_rank = tma_rank
        self.tma_padding = tma_padding
        if partial is not None and not isinstance(partial, str):
            refuse("OptionType", "partial", "the name of a dimension, as in 'B'", repr(partial))
        self.partial = partial
        if strides not in (None, "dynamic"):
            refuse("OptionValue", "strides", "'dynamic', or None: dense", f"not {strides!r}")
        self.strides = strides
        if not is_read_by_dynamo():
            _core.check_tile(self)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dims)

    @property
    def symbolic_dims(self) -> tuple[str, ...]:
        """Names of the symbolic dimensions, each once, in order of appearance."""
        return tuple(dict.fromkeys(dim for dim in self.dims if isinstance(dim, str)))

    @property
    def dtype_name(self) -> str | None:
        """Name of the element type, or the name that stands for one; None where any is taken."""
        return self._dtype_name

    @property
    def type_name(self) -> str | None:
        """The name whose type each call gives ("T"), None where the type is declared, or any."""
        name = self._dtype_name
        return name if name is not None and _core.is_type_name(name) else None

    def resolve_shape(self, env: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape with every name replaced by its value in `env`."""
        return _core.tile_shape(self, dict(env))

    def matches(self, shape: Sequence[int], dtype_name: Any) -> bool:
        """Whether a tensor of that shape and dtype (a name of ours or a framework's) fits."""
        return _core.tile_takes(self, tuple(shape), ptx_name(dtype_name))

    def extract_env(self, shape: Sequence[int]) -> dict[str, int]:
        """Return the values that `shape` gives to the symbolic dimensions."""
        return _core.tile_sizes(self, tuple(shape))

    @classmethod
    def wgmma_a(
        cls,
        m: int | str,
        k: int | str,
        dtype: Any,
        *,
        tile_m: int | None = None,
        tile_k: int | None = None,
    ) -> Tile:
        """Return an (m, k) operand A, K contiguous, loaded in boxes of `tile_m` rows for wgmma."""
        return cls._wgmma(m, k, dtype, tile_m, tile_k)

    @classmethod
    def wgmma_b(
        cls,
        k: int | str,
        n: int | str,
        dtype: Any,
        *,
        tile_k: int | None = None,
        tile_n: int | None = None,
    ) -> Tile:
        """Return a (k, n) operand B, N contiguous, loaded in boxes of `tile_k` rows for wgmma."""
        return cls._wgmma(k, n, dtype, tile_k, tile_n)

    @classmethod
    def _wgmma(
        cls,
        rows: int | str,
        cols: int | str,
        dtype: Any,
        box_rows: int | None,
        box_cols: int | None,
    ) -> Tile:
        layout, box = _core.tile_wgmma(rows, cols, ptx_name(dtype), box_rows, box_cols)
        return cls(rows, cols, dtype=dtype, layout=Layout(layout), tma_box=box)

    def _identity(self) -> tuple[Any, ...]:
        return (
            self.dims,
            self.dtype_name,
            self.layout,
            self.tma_box,
            self.tma_rank,
            self.tma_padding,
            self.partial,
            self.strides,
        )

    def __eq__(self, other: object) -> bool:
        """Tiles are equal when they say the same."""
        return isinstance(other, Tile) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Hash of what the tile says."""
        return hash(self._identity())

    def __repr__(self) -> str:
        """Return the call that makes this tile."""
        return _core.tile_text(self)


def unify_envs(envs: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Merge the values that several tensors give to dimensions; they must agree."""
    merged: dict[str, int] = {}
    for env in envs:
        for name, value in env.items():
            if merged.setdefault(name, value) != value:
                refuse("DimensionTwice", "unify_envs", name, merged[name], value)
    return merged


def _is_dtype(item: Any) -> bool:
    return hasattr(item, "name") and hasattr(item, "bits")


def _dimension(item: Any) -> int | str:
    if isinstance(item, str):
        return item
    if hasattr(item, "__index__") and not isinstance(item, bool):
        return int(item.__index__())
    return refuse(
        "DeclarationType",
        "Tile",
        f"takes dimensions (int or str), one type of pyptx.types and a Layout, "
        f"not {item!r} ({type(item).__name__})",
    )
