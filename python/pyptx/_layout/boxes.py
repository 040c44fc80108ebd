# SPDX-License-Identifier: Apache-2.0
"""Tensor copies: what a box brings and where it lies, and tensor maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyptx._core import TensorMap
from pyptx._core import layout as core
from pyptx._layout.picture import Cell, Grid, Picture, Table
from pyptx._layout.refusals import refuse_value

_LINE = 128
_MOST_ROWS = 64


def make_map(
    dtype: object,
    shape: Sequence[int],
    box: Sequence[int],
    *,
    swizzle: str | None = None,
    interleave: str = "none",
    element_strides: Sequence[int] = (),
    strides: Sequence[int] = (),
    nan: bool = False,
    corners: tuple[Sequence[int], Sequence[int]] | None = None,
    pixels: int = 0,
    channels: int = 0,
) -> TensorMap:
    """Return the tensor map over a row-major tensor, or over one with other strides (in bytes).

    Everything goes from the outermost dimension to the innermost, as a `Tile` has it. With
    `corners`, (lower, upper) of the bounding box, it is a map of im2col. With `nan` a load fills
    with NaN what lies outside.
    """
    dims = list(reversed(shape))
    given = list(reversed(strides)) if strides else []
    steps = list(reversed(element_strides))
    name = str(getattr(dtype, "name", dtype))
    inner = list(reversed(box)) if box else [1] * len(dims)
    try:
        unit = _unit_bytes(name, interleave)
        if not given:
            row = dims[0] * unit if dims else 0
            for extent in dims[1:]:
                given.append(row)
                row *= extent
        made = TensorMap(name, dims, given, inner, swizzle, nan, steps, interleave)
        if corners is not None:
            lower, upper = (list(reversed(corner)) for corner in corners)
            made.set_im2col(lower, upper, channels, pixels)
    except ValueError as error:
        refuse_value("the tensor map", error)
    if (problem := made.problem()) is not None:
        refuse_value("the tensor map", ValueError(problem))
    return made


def _unit_bytes(name: str, interleave: str) -> int:
    from pyptx._layout.shared import element_bytes

    return element_bytes(name) if interleave == "none" else int(interleave.removesuffix("B"))


def tensor_map(map: TensorMap | bytes, *, address: int = 0) -> Picture:
    """Show a tensor map field by field: one of `make_map`, or the emulator's 128 bytes of one."""
    try:
        known, where = core.decode_map(map) if isinstance(map, bytes) else (map, address)
    except ValueError as error:
        refuse_value("the tensor map", error)
    rows = [*core.map_fields(known)]
    if where:
        rows.append(("address", f"{where:#x}"))
    return Picture(
        "A tensor map",
        "The fields of a tensor map.",
        (Table(("field", "value"), rows),),
        problem=known.problem(where) or "",
        facts={"map": known, "address": where},
    )


def box(
    map: TensorMap,
    at: Sequence[int],
    *,
    mode: str = "tile",
    offsets: Sequence[int] = (0, 0, 0),
    start: int = 0,
    store: bool = False,
) -> Picture:
    """Draw what one tensor copy brings and where it lies in shared memory.

    `at` are the coordinates as the instruction takes them, the innermost first: gather4 has the
    column and four rows. `start` is the shared address; what lies outside the tensor is marked.
    """
    moved = [*offsets, 0, 0, 0][:3]
    try:
        copy = _Copy(map, at, core.box(map, list(at), mode, moved, start, store), start)
    except ValueError as error:
        refuse_value("the copy", error)
    kind = "A store takes" if store else "A load brings"
    return Picture(
        f"What {kind.lower()}: {mode} at [{_listed(at)}]",
        f"What the copy touches, row by row, and what lies at each shared address: "
        f"{len(copy.rows)} rows of {copy.row_bytes} bytes.",
        (copy.by_row(), copy.by_address()),
        copy.notes(),
        facts={
            "rows": copy.rows,
            "inside": (copy.begin, copy.end),
            "row_bytes": copy.row_bytes,
            "map": map,
        },
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(one) for one in numbers)


class _Copy:
    """A copy of a box: its rows with their places, and what of them lies inside the tensor."""

    def __init__(self, map: TensorMap, at: Sequence[int], of: Any, start: int) -> None:
        self.rows, self.begin, self.end, self.row_bytes, unit, self._step = of
        self._at = at
        self._start = start
        self._per = max(1, 16 // unit)  # elements in 16 bytes
        self._count = self.row_bytes // unit
        self._shown = self.rows[:_MOST_ROWS]
        self._fill = dict(core.map_fields(map))["fill outside"]

    def _pieces(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield line, chunk, shared address and elements inside the tensor of each 16 bytes."""
        for line, (_, in_bounds, _, places) in enumerate(self._shown):
            for chunk, place in enumerate(places):
                first = chunk * self._per
                inside = min(self.end, first + self._per) - max(self.begin, first)
                yield line, chunk, place, max(0, inside) if in_bounds else 0

    def _cell(self, at: tuple[int, int], text: str, piece: tuple[int, int, int, int]) -> Cell:
        line, chunk, place, inside = piece
        index, _, coordinates, _ = self._shown[line]
        where = [coordinates[0] + chunk * self._per * self._step, *coordinates[1:]]
        outside = self._per - inside
        state = f"; {outside} of {self._per} outside: {self._fill}" if outside else ""
        return Cell(
            *at,
            text if inside else self._fill,
            f"row {index} of the box, bytes {16 * chunk}-{16 * chunk + 15}: coordinates "
            f"[{_listed(where)}] on, shared address {place:#x}{state}",
            group=int(index) % 8 if inside else None,
            is_marked=0 < inside < self._per,
        )

    def by_row(self) -> Grid:
        """Return the box as the tensor has it, with the shared offset of each 16 bytes."""
        hidden = len(self.rows) - len(self._shown)
        left_out = f"; {hidden} more rows are not shown" if hidden else ""
        step = self._per * self._step
        return Grid(
            [f"[{_listed(row[2][1:])}]" for row in self._shown],
            [str(self._at[0] + chunk * step) for chunk in range(self.row_bytes // 16)],
            [
                self._cell((piece[0], piece[1]), f"{piece[2] - self._start:#x}", piece)
                for piece in self._pieces()
            ],
            f"The box: each 16 bytes with their shared offset{left_out}",
            "row at",
            f"coordinate 0, {self._per} elements in 16 bytes",
        )

    def by_address(self) -> Grid:
        """Return shared memory in lines of all the banks, with what lies there."""
        placed = [piece[2] for piece in self._pieces()]
        first = min(placed) // _LINE
        lines = max(placed) // _LINE - first + 1
        return Grid(
            [f"{(first + line) * _LINE:#x}" for line in range(lines)],
            [f"{4 * i}-{4 * i + 3}" for i in range(8)],
            [
                self._cell(
                    (piece[2] // _LINE - first, piece[2] // 16 % 8),
                    f"{self._shown[piece[0]][0]}.{piece[1]}",
                    piece,
                )
                for piece in self._pieces()
            ],
            "Shared memory: row.chunk of the box at each address",
            "address",
            "banks; a colour is a row of the box",
        )

    def notes(self) -> tuple[str, ...]:
        """Say what lies outside the tensor."""
        outside = sum(1 for row in self.rows if not row[1])
        notes = [f"{outside} of {len(self.rows)} rows lie outside the tensor."] if outside else []
        if (self.begin, self.end) != (0, self._count):
            inside = f"elements {self.begin} to {self.end - 1} lie"
            none = "nothing lies"
            which = inside if self.end > self.begin else none
            notes.append(f"Of each row, {which} inside the tensor.")
        if notes:
            notes.append(
                f"A load fills with {self._fill} what lies outside, a store leaves it alone; a "
                "frame (!) marks 16 bytes of which some are inside."
            )
        return tuple(notes)
