# SPDX-License-Identifier: Apache-2.0
"""Machine code as nvdisasm prints it, read into rows: labels and instructions.

Each instruction knows its address, its scheduling fields and, where the cubin has a line table of
the PTX, the line that it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyptx._view.control import field_of

_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
_OTHER_SECTION = re.compile(r"\s*\.section\s|//-+ \.")
_PLACE = re.compile(r'\s*//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_INSTRUCTION = re.compile(
    r"\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>.*?)\s*;?\s*(?:/\* 0x[0-9a-f]{16} \*/\s*)?$"
)
_UPPER = re.compile(r"\s+/\* (0x[0-9a-f]{16}) \*/\s*$")
_LABEL = re.compile(r"(?P<name>[.$\w@]+):\s*$")
_OPCODE = re.compile(r"(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9_.]*)")
#: What the line table of the PTX calls its file.
PTX_FILE = ".nv_debug_ptx_txt"
#: Between the instructions of two lines the disassembler pads them so.
_GAP = re.compile(r"\s{2,}")


@dataclass(slots=True)
class Row:
    """A line of a listing: a label, or an instruction, which has an address."""

    text: str
    address: int = -1
    control: int = -1  # the scheduling fields, see control.decode; -1: unknown
    ptx_line: int = 0  # from 1; 0: unknown
    function: str = ""

    @property
    def opcode(self) -> str:
        """The mnemonic with its modifiers, or nothing for a label."""
        found = _OPCODE.match(self.text) if self.address >= 0 else None
        return found["name"] if found else ""


@dataclass(slots=True)
class Listing:
    """The functions of a cubin, one after the other."""

    rows: list[Row] = field(default_factory=list)

    @property
    def instructions(self) -> list[Row]:
        """The rows that are instructions."""
        return [row for row in self.rows if row.address >= 0]

    def text(self) -> str:
        """Show it without encodings: a label per line, an address before each instruction."""
        return "\n".join(
            row.text if row.address < 0 else f"    {row.address:04x}  {row.text}"
            for row in self.rows
        )


def read(text: str) -> Listing:
    """Read what nvdisasm prints, with or without encodings and lines."""
    listing = Listing()
    function, line = "", 0  # in none
    for raw in text.splitlines():
        if section := _SECTION.match(raw):
            function, line = section[1], 0
        elif _OTHER_SECTION.match(raw):
            function = ""
        elif function:
            if place := _PLACE.match(raw):
                line = int(place["line"]) if place["file"].startswith(PTX_FILE) else 0
            else:
                _add(listing, raw, line, function)
    _trim(listing)
    return listing


def _trim(listing: Listing) -> None:
    """Take away what fills up the end of a function, which nothing reaches."""
    kept: list[Row] = []
    for row in reversed(listing.rows):
        is_behind = not kept or kept[-1].function != row.function
        if not (is_behind and row.text == "NOP"):
            kept.append(row)
    listing.rows = kept[::-1]


def _add(listing: Listing, raw: str, line: int, function: str) -> None:
    rows = listing.rows
    if found := _INSTRUCTION.match(raw):
        text = _GAP.sub(" ", found["text"].replace("`(", "").rstrip())
        # `(.L_x_0) is how a label is written.
        text = text.replace(")", "", 1) if "`(" in found["text"] else text
        rows.append(Row(text, int(found["address"], 16), -1, line, function))
    elif (upper := _UPPER.match(raw)) and rows and rows[-1].address >= 0:
        rows[-1].control = field_of(int(upper[1], 16))
    elif (label := _LABEL.match(raw)) and not label["name"].startswith(".text."):
        rows.append(Row(label["name"] + ":", function=function))


def mnemonics(listing: Listing) -> Iterator[str]:
    """Give the opcode of each instruction, without its modifiers."""
    for row in listing.instructions:
        yield row.opcode.partition(".")[0]
