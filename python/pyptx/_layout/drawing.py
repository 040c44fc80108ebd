# SPDX-License-Identifier: Apache-2.0
"""A picture as SVG."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator

from pyptx._layout.picture import Cell, Grid, Number, Part, Picture, Table
from pyptx._svg import CHARACTER, GROUPS, HEATS, LINE, Drawing

_LEFT = 12.0
_PAD = 6.0
_FIELD = 21.0  # width of a bit of a number
_WIDEST = 110  # letters of a line of prose


def draw(picture: Picture) -> str:
    """Return the text of the SVG element."""
    on = Drawing()
    y = 22.0
    on.words(_LEFT, y, picture.title, "t")
    for part in picture.parts:
        y = _PARTS[type(part)](on, part, y + 10)
    lines = [line for note in picture.notes for line in textwrap.wrap(note, _WIDEST)]
    for line in lines:
        y += LINE
        on.words(_LEFT, y, line, "p d")
    for line in textwrap.wrap(picture.problem, _WIDEST):
        y += LINE
        on.words(_LEFT, y, line, "p b")
    return on.finish(picture.title, picture.description)


def _kind(cell: Cell) -> str:
    """Return the class of a cell's box."""
    mark = " o" if cell.is_marked else ""
    if cell.heat is not None:
        return f"h{min(HEATS - 1, math.ceil(cell.heat * (HEATS - 1)))}{mark}"
    return ("n" if cell.group is None else f"g{cell.group % GROUPS}") + mark


def column_width(grid: Grid, per_letter: float, pad: float) -> float:
    """Return how wide a column has to be for every cell and name."""
    needed = [len(name) * per_letter + pad for name in grid.columns]
    needed += [(len(cell.text) * per_letter + pad) / cell.width for cell in grid.cells]
    return max(needed, default=pad)


def _grid(on: Drawing, part: Part, y: float) -> float:
    assert isinstance(part, Grid)
    if part.title:
        y += LINE
        on.words(_LEFT, y, part.title, "s")
    names = max((len(name) for name in part.rows), default=0)
    left = _LEFT + max(names * CHARACTER + 8, len(part.row_title) * CHARACTER + 8)
    width = max(column_width(part, CHARACTER, _PAD), 12.0)
    y += LINE
    if part.column_title:
        on.words(left, y - 2, part.column_title, "d")
        y += 13
    if part.row_title:
        on.words(left - 6, y - 3, part.row_title, "e d")
    if any(part.columns):
        for i, name in enumerate(part.columns):
            on.words(left + width * (i + 0.5), y - 3, name, "m d")
    for i, name in enumerate(part.rows):
        on.words(left - 6, y + LINE * i + 12.5, name, "e d")
    for cell in part.cells:
        x, top = left + width * cell.column, y + LINE * cell.row
        wide, high = width * cell.width, LINE * cell.height
        on.box(x, top, wide, high, _kind(cell), cell.detail)
        if cell.text:
            on.words(x + wide / 2, top + high / 2 + 3.5, cell.text, "m")
    return y + LINE * len(part.rows)


def _rows_of_bits(size: int) -> Iterator[int]:
    """Yield the lowest bit of each line of a number, from the highest down."""
    yield from range(size - 32, -1, -32)


def _number(on: Drawing, part: Part, y: float) -> float:
    assert isinstance(part, Number)
    top = y + 4
    for low in _rows_of_bits(part.size):
        _bits(on, part, low, top)
        top += 46
    digits = part.size // 4
    y = top + 4
    on.words(_LEFT, y, f"0x{part.value:0{digits}x}", "")
    rows = [
        (_range(one.at, one.size), one.name, f"{one.bits:#x}", one.meaning) for one in part.fields
    ]
    return _table(on, Table(("bits", "field", "value", "meaning"), rows), y)


def _bits(on: Drawing, part: Number, low: int, top: float) -> None:
    """Draw 32 bits with the fields that they belong to; a field may go on in the next line."""
    for index, one in enumerate(part.fields):
        first, last = max(one.at, low), min(one.at + one.size, low + 32) - 1
        if first > last:
            continue
        x = _LEFT + _FIELD * (low + 31 - last)
        wide = _FIELD * (last - first + 1)
        detail = f"{one.name}: {one.meaning}"
        on.box(x, top + 13, wide, 24, f"g{index % GROUPS}", detail)
        room = int(wide / CHARACTER)
        name = one.name if len(one.name) <= room else f"{one.bits:x}"
        on.words(x + wide / 2, top + 28.5, name, "m")
        on.words(x + 2, top + 10, str(last), "d")
        if last - first > 1:
            on.words(x + wide - 2, top + 10, str(first), "e d")
    used = {one.at + i for one in part.fields for i in range(one.size)}
    for bit in range(low, low + 32):
        if bit not in used:
            on.box(_LEFT + _FIELD * (low + 31 - bit), top + 13, _FIELD, 24, "n", f"bit {bit}: 0")


def _range(at: int, size: int) -> str:
    return str(at) if size == 1 else f"{at}-{at + size - 1}"


def _table(on: Drawing, part: Part, y: float) -> float:
    assert isinstance(part, Table)
    if part.title:
        y += LINE
        on.words(_LEFT, y, part.title, "s")
    columns = list(zip(part.head, *part.rows, strict=True))
    widths = [max(len(word) for word in column) * CHARACTER + 16 for column in columns]
    for number, row in enumerate([part.head, *part.rows]):
        y += LINE
        x = _LEFT
        for word, width in zip(row, widths, strict=True):
            on.words(x, y, word, "d" if number == 0 else "")
            x += width
        if number == 0:
            on.line(_LEFT, y + 5, x - 16, y + 5)
    return y


_PARTS: dict[type, Callable[[Drawing, Part, float], float]] = {
    Grid: _grid,
    Number: _number,
    Table: _table,
}
