# SPDX-License-Identifier: Apache-2.0
"""Writes the recovered tables as C++ (src/emu/numerics/special_function_tables.h)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from .fit import TANH_SEGMENTS, Table

_HEAD = """\
// SPDX-License-Identifier: Apache-2.0
//
// The coefficients of the unit for special functions, recovered from the answers of an NVIDIA H200.
// Written by tools/record/functions (python -m record.functions tables); not edited. A sum is
// (C0 << kShift) + kBias + (C1 x << kUnit) + (C2 x^2 << kUp).
#pragma once

#include "types.h"

namespace pyptx::emu {

// clang-format off
"""
_WIDTH = 100


def _wrapped(numbers: Iterable[int]) -> Iterator[str]:
    line = "     "
    for number in numbers:
        piece = f" {number},"
        if len(line) + len(piece) > _WIDTH:
            yield line
            line = "     "
        line += piece
    yield line


def _array(name: str, numbers: list[int], kind: str = "i32") -> list[str]:
    return [f"  static constexpr {kind} {name}[] = {{", *_wrapped(numbers), "  };"]


def text_of(tables: Iterable[Table]) -> str:
    """Return the file."""
    lines = [_HEAD]
    for table in tables:
        lines.append(f"struct {table.name}Table {{")
        lines.append(
            f"  static constexpr u32 kShift = {table.shift}, kUnit = {table.unit}, "
            f"kUp = {table.up};"
        )
        lines.append(f"  static constexpr i64 kBias = {table.bias:#x};")
        for number, name in enumerate(("kC0", "kC1", "kC2")):
            lines += _array(name, [row[number] for row in table.rows])
        if table.name == "Tanh":
            lines.append(
                "  // By exponent: the bits of a mantissa that name a segment, and the first."
            )
            lines.append(f"  static constexpr u32 kFirstExponent = {min(TANH_SEGMENTS)};")
            counts = [1 << bits for bits in TANH_SEGMENTS.values()]
            firsts = list(itertools.accumulate([0, *counts]))[:-1]
            lines += _array("kSegmentBits", list(TANH_SEGMENTS.values()), "u32")
            lines += _array("kFirstSegment", firsts, "u32")
        lines.append("};\n")
    lines.append("}  // namespace pyptx::emu")
    return "\n".join(lines) + "\n"
