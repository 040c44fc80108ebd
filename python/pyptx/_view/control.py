# SPDX-License-Identifier: Apache-2.0
"""The scheduling fields of a machine instruction, which no disassembler prints in words.

From compute capability 7.0 on an instruction has 128 bits, of which 21 say how it is issued: after
how many cycles the next one may follow, whether the scheduler is to turn to another warp, which of
the six scoreboards it sets when its operands are read and when its result is there, and which it
waits for. `tests/view/test_listing.py` holds the reading against what assemblers write.
"""

from __future__ import annotations

from typing import NamedTuple

#: Where the fields begin in the upper 64 bits.
_FIRST_BIT = 41
_BITS = 21
_NO_SCOREBOARD = 7


class Control(NamedTuple):
    """How an instruction is issued."""

    stall: int
    yields: bool
    write: int | None  # the scoreboard that is released when the result is written
    read: int | None  # the one that is released when the operands have been read
    waits: tuple[int, ...]  # for these scoreboards
    reuse: tuple[int, ...]  # operands that stay in the cache of the register file

    def __str__(self) -> str:
        """Say it as one line."""
        parts = [f"stall {self.stall}"]
        if self.yields:
            parts.append("yield")
        if self.waits:
            parts.append("waits for " + ", ".join(f"SB{n}" for n in self.waits))
        if self.write is not None:
            parts.append(f"sets SB{self.write} until written")
        if self.read is not None:
            parts.append(f"sets SB{self.read} until read")
        if self.reuse:
            parts.append("reuse of operand " + ", ".join(str(n) for n in self.reuse))
        return "; ".join(parts)


def field_of(upper: int) -> int:
    """Return the 21 bits of the upper half of an instruction."""
    return upper >> _FIRST_BIT & (1 << _BITS) - 1


def decode(field: int) -> Control:
    """Read the 21 bits."""
    write, read = field >> 5 & 7, field >> 8 & 7
    return Control(
        stall=field & 15,
        yields=not field >> 4 & 1,
        write=None if write == _NO_SCOREBOARD else write,
        read=None if read == _NO_SCOREBOARD else read,
        waits=tuple(n for n in range(6) if field >> 11 >> n & 1),
        reuse=tuple(n for n in range(4) if field >> 17 >> n & 1),
    )
