# SPDX-License-Identifier: Apache-2.0
"""Where the results of a part differ from the recorded ones: the case, its inputs, both answers."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from .launch import Bytes, Part, Tolerance
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
    wrong = [
        index
        for index in range(len(kept))
        if not _same(got[index].tobytes(), expected[index].tobytes(), part.tolerance)
    ]
    if wrong:
        first = wrong[0]
        return Difference(
            part.key,
            f"{len(wrong)} of {len(kept)} stored cases differ, first case {kept[first]}: "
            f"{part.describe(kept[first])}\n"
            f"  expected {_hex(expected[first])}\n  got      {_hex(got[first])}",
            len(wrong),
        )
    if part.tolerance is not None:
        return None
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


def _same(got: bytes, expected: bytes, tolerance: Tolerance | None) -> bool:
    if got == expected or tolerance is None:
        return got == expected
    pairs = zip(_floats(got, tolerance.format), _floats(expected, tolerance.format), strict=True)
    return all(_close(one, other, tolerance) for one, other in pairs)


def _floats(data: bytes, kind: str) -> list[float]:
    if kind == "bf16":
        words = struct.unpack(f"<{len(data) // 2}H", data)
        return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    code, size = {"f16": ("e", 2), "f32": ("f", 4), "f64": ("d", 8)}[kind]
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


def _close(got: float, expected: float, tolerance: Tolerance) -> bool:
    if math.isnan(expected) or math.isinf(expected):
        return got == expected or (math.isnan(got) and math.isnan(expected))
    distance = abs(got - expected)
    return distance <= max(tolerance.absolute, tolerance.relative * abs(expected))
