# SPDX-License-Identifier: Apache-2.0
"""Where the results of a part differ from the recorded ones: the case, its inputs, both answers."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from .launch import Bytes, Part
from .store import Record, chunk_bounds


@dataclass(frozen=True)
class Difference:
    """The first case of a part that differs, and how many of the stored ones do."""

    key: str
    text: str
    stored: int = 0

    def __str__(self) -> str:
        return f"{self.key}\n  {self.text}"


def difference(part: Part, results: Bytes, record: Record) -> Difference | None:
    """Compare a part's results (one row per case) with what was recorded."""
    if (part.element, part.cases) != (record.element, record.cases):
        return Difference(
            part.key,
            f"recorded {record.cases} cases of {record.element} bytes, "
            f"now {part.cases} of {part.element}: record the set anew",
        )
    kept = part.kept()
    expected = np.frombuffer(record.kept, np.uint8).reshape(len(kept), part.element)
    got = results[kept]
    wrong = [index for index in range(len(kept)) if (got[index] != expected[index]).any()]
    if wrong:
        first = wrong[0]
        return Difference(
            part.key,
            f"{len(wrong)} of {len(kept)} stored cases differ, first case {kept[first]}: "
            f"{part.describe(kept[first])}\n"
            f"  expected {_hex(expected[first])}\n  got      {_hex(got[first])}",
            len(wrong),
        )
    rows = np.ascontiguousarray(results)
    for (low, high), wanted in zip(chunk_bounds(part.cases), record.sums, strict=True):
        if zlib.crc32(rows[low:high].tobytes()) != wanted:
            return Difference(
                part.key,
                f"the {len(kept)} stored cases agree, but one of the cases {low} to {high - 1} "
                f"does not (checksum); case {low}: {part.describe(low)}",
            )
    return None


def _hex(row: Bytes) -> str:
    """Return a result as the number it is in memory, most significant digit first."""
    if row.size > 16:
        return str(row.tobytes().hex(" ", 4))
    return f"0x{row.tobytes()[::-1].hex()}"
