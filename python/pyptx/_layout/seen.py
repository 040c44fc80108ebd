# SPDX-License-Identifier: Apache-2.0
"""What a report of an emulated run has for pictures; `runs` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyptx._layout.picture import Picture


class BankUse(NamedTuple):
    """How an instruction used the banks of shared memory, over all its accesses.

    `words` are the different words that each bank gave. `addresses` are those of the access that
    took the most wavefronts, by lane, of `bytes` each; None where a lane took no part.
    """

    name: str
    file: str
    line: int
    wavefronts: int
    bank_conflicts: int
    words: tuple[int, ...]
    addresses: tuple[int | None, ...]
    bytes: int


class TensorUse(NamedTuple):
    """What happened to columns of tensor memory: "alloc", "ld", "st", "mma" or "cp".

    Times are warp instructions that the cluster had run. Of the first cluster of the grid.
    """

    kind: str
    is_write: bool
    cta: int
    warp: int
    halves: int
    first: int
    columns: int
    start: int
    end: int
    name: str
    place: str


class ShownTile(NamedTuple):
    """What `ptx.show` saw in a tile of shared memory: its elements as words, row by row."""

    name: str
    place: str
    type: str
    swizzle: str
    shape: Sequence[int]
    cta: Sequence[int]
    number: int  # of the pass
    address: int
    elements: Sequence[str]

    def picture(self) -> Picture:
        """Draw the tile in its logical order."""
        from pyptx._layout import runs

        return runs.tile_picture(self)

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()
