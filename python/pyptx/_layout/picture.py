# SPDX-License-Identifier: Apache-2.0
"""What a picture shows: grids of cells, numbers in fields and tables, and how to look at it.

A picture knows nothing of instructions. It is drawn as SVG (`drawing`) and as text (`terminal`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cell:
    """A box of a grid. `group` is a colour that tells things apart, `heat` (0 to 1) a shade."""

    row: int
    column: int
    text: str = ""
    detail: str = ""
    group: int | None = None
    heat: float | None = None
    width: int = 1
    height: int = 1
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells in rows and columns with their names."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Cell]
    title: str = ""
    row_title: str = ""
    column_title: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """Some bits of a number, what they are called and what they mean."""

    at: int
    size: int
    name: str
    bits: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number as its fields."""

    value: int
    size: int
    fields: Sequence[Field]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words under a head."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""


Part = Grid | Number | Table


@dataclass(frozen=True)
class Picture:
    """A layout that can be looked at.

    `print` shows it as text, a notebook draws it; `svg()` is the drawing by itself and `save()`
    puts it into a file. `facts` are the numbers that it was made of, by name.
    """

    title: str
    description: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    problem: str = ""
    facts: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    def svg(self) -> str:
        """Return the picture as one SVG element: no scripts, no outside resources."""
        from pyptx._layout import drawing

        return drawing.draw(self)

    def text(self) -> str:
        """Return the picture as text, for a terminal."""
        from pyptx._layout import terminal

        return terminal.draw(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture to a file: SVG where its name ends so, otherwise text."""
        to = Path(path)
        to.write_text(self.svg() if to.suffix == ".svg" else self.text(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg()}</div>'

    def __str__(self) -> str:
        """Return the text."""
        return self.text()

    def __repr__(self) -> str:
        """Return the text: what a terminal shows of it."""
        return self.text().rstrip("\n")
