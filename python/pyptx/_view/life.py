# SPDX-License-Identifier: Apache-2.0
"""Which registers hold a value at each machine instruction, as nvdisasm works it out.

It draws a column for each register; here a register is a list of ranges. The drawing takes nvdisasm
a time that grows with the square of the function, so that the caller says when it is too long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyptx._view.listing import Row

_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
_ROW = re.compile(r"\s+/\*([0-9a-f]{4,})\*/")
#: How the registers of a class are called in a listing.
PREFIXES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
_CLASSES = tuple(PREFIXES)
#: More machine instructions than this take nvdisasm many seconds.
MOST_INSTRUCTIONS = 8000


@dataclass(slots=True)
class Life:
    """The life ranges of every register, by instructions counted from 0 through the listing."""

    #: Class, register, first instruction, last instruction.
    ranges: list[tuple[str, int, int, int]] = field(default_factory=list)
    #: Per class the registers in use at each instruction.
    counts: dict[str, list[int]] = field(default_factory=dict)

    def live_at(self, instruction: int) -> list[str]:
        """Return the registers in use there, by their names in the listing."""
        return [
            f"{PREFIXES[kind]}{number}"
            for kind, number, first, last in self.ranges
            if first <= instruction <= last
        ]


def read(text: str, instructions: Sequence[Row]) -> Life:
    """Read the listing that `nvdisasm --life-range-mode narrow` prints of these instructions.

    It may leave out some at the end of a function, which do nothing.
    """
    numbers = {(row.function, row.address): number for number, row in enumerate(instructions)}
    life = Life(counts={name: [0] * len(instructions) for name in _CLASSES})
    open_ranges: dict[tuple[str, int], int] = {}
    columns: list[tuple[str, int]] = []  # of the function at hand: class, where register 0 stands
    names: list[str] = []
    function, last = "", -1

    def close(alive: set[tuple[str, int]]) -> None:
        for key in [key for key in open_ranges if key not in alive]:
            life.ranges.append((*key, open_ranges.pop(key), last))

    for raw in text.splitlines():
        listing, bar, table = raw.partition("// |")
        if not bar:
            section = _SECTION.match(raw)
            function = section[1] if section else function
            continue
        cells = table.rstrip().rstrip("|").split("|")
        if any(cell.strip() in _CLASSES for cell in cells):
            names = [cell.strip() for cell in cells]
            close(set())
        elif "#" in table and names:
            columns = [
                (name, cell.index("#") + 2) for name, cell in zip(names, cells, strict=False)
            ]
        elif (row := _ROW.match(listing)) and (function, int(row[1], 16)) in numbers:
            at = numbers[function, int(row[1], 16)]
            alive = _alive(columns, cells)
            close(alive)
            for key in alive:
                open_ranges.setdefault(key, at)
            for name in _CLASSES:
                life.counts[name][at] = sum(1 for kind, _ in alive if kind == name)
            last = at
    close(set())
    life.ranges.sort(key=lambda one: (_CLASSES.index(one[0]), *one[1:]))
    return life


def _alive(columns: list[tuple[str, int]], cells: list[str]) -> set[tuple[str, int]]:
    return {
        (name, index)
        for (name, first), cell in zip(columns, cells, strict=False)
        for index, mark in enumerate(cell[first:])
        if mark in "^vx:"
    }
