# SPDX-License-Identifier: Apache-2.0
"""A picture as text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable

from pyptx._layout.picture import Cell, Grid, Number, Part, Picture, Table

_WIDEST = 100


def draw(picture: Picture) -> str:
    """Return lines for a terminal, each ended."""
    lines = [picture.title]
    for part in picture.parts:
        lines += ["", *_PARTS[type(part)](part)]
    if picture.notes:
        lines.append("")
    for note in picture.notes:
        lines += textwrap.wrap(note, _WIDEST)
    if picture.problem:
        lines += ["", *textwrap.wrap(f"error: {picture.problem}", _WIDEST)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _grid(part: Part) -> list[str]:
    assert isinstance(part, Grid)
    width = max((len(name) for name in part.columns), default=0)
    for cell in part.cells:
        width = max(width, math.ceil((len(_words(cell)) + 1) / cell.width) - 1)
    left = max(len(name) for name in (*part.rows, part.row_title))
    lines = [part.title] if part.title else []
    if part.column_title:
        lines.append(f"{'':{left}}  {part.column_title}")
    if any(part.columns):
        names = " ".join(f"{name:<{width}}" for name in part.columns)
        lines.append(f"{part.row_title:>{left}}  {names}")
    covering: dict[tuple[int, int], Cell] = {}
    for cell in part.cells:
        for row in range(cell.row, cell.row + cell.height):
            covering[row, cell.column] = cell
    for row, name in enumerate(part.rows):
        line, column = "", 0
        while column < len(part.columns):
            found = covering.get((row, column))
            span = found.width if found else 1
            room = span * (width + 1)
            line += f"{_words(found) if found else '':<{room}}"
            column += span
        lines.append(f"{name:>{left}}  {line}")
    return lines


def _words(cell: Cell) -> str:
    """Return the text of a cell: without colours, a mark is a letter."""
    return cell.text + ("!" if cell.is_marked else "")


def _number(part: Part) -> list[str]:
    assert isinstance(part, Number)
    rows = [
        (
            str(one.at) if one.size == 1 else f"{one.at}-{one.at + one.size - 1}",
            one.name,
            f"{one.bits:#x}",
            one.meaning,
        )
        for one in part.fields
    ]
    digits = part.size // 4
    head = ("bits", "field", "value", "meaning")
    return [f"0x{part.value:0{digits}x}", *_table(Table(head, rows))]


def _table(part: Part) -> list[str]:
    assert isinstance(part, Table)
    columns = list(zip(part.head, *part.rows, strict=True))
    widths = [max(len(word) for word in column) for column in columns]
    lines = [part.title] if part.title else []
    for row in (part.head, *part.rows):
        lines.append("  ".join(f"{word:<{width}}" for word, width in zip(row, widths, strict=True)))
    return lines


_PARTS: dict[type, Callable[[Part], list[str]]] = {Grid: _grid, Number: _number, Table: _table}
