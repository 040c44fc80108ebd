# SPDX-License-Identifier: Apache-2.0
"""128-bit division as nvcc compiles it: long chains of the condition code, against Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from support.tree import ROOT

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/corpus")]

import corpus  # noqa: E402
from record.launch import Launch  # noqa: E402
from record.run import on_emulator  # noqa: E402
from record.stream import Stream  # noqa: E402

BITS = 128
COUNT = 512
EDGES = (1, 2, 3, 10, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**127 - 1, 2**128 - 1)


def wrapped(value: int) -> int:
    """Return the bits of a number, two's complement."""
    return value % 2**BITS


def signed(bits: int) -> int:
    return bits - (bits >> (BITS - 1) << BITS)


def operands() -> list[tuple[int, int]]:
    """Return every pair of edges, then random numbers of every width."""
    pairs = [(a, b) for a in (0, *EDGES) for b in EDGES]
    stream = Stream("wide integers")
    words = [int(word) for word in stream.words(4 * COUNT)]
    widths = [int(width) for width in stream.below(BITS, 2 * COUNT)]
    for i in range(COUNT - len(pairs)):
        a = words[4 * i] << 64 | words[4 * i + 1]
        b = words[4 * i + 2] << 64 | words[4 * i + 3]
        pairs.append((a >> widths[2 * i], max(1, b >> widths[2 * i + 1])))
    return pairs


def divided(a: int, b: int) -> list[int]:
    """Return quotient and remainder as C++ has them, of signed, then of unsigned numbers."""
    quotient = abs(signed(a)) // abs(signed(b))
    if (signed(a) < 0) != (signed(b) < 0):
        quotient = -quotient
    remainder = signed(a) - quotient * signed(b)
    return [wrapped(quotient), wrapped(remainder), a // b, a % b]


def test_division_of_128_bits():
    if not corpus.is_available():
        pytest.skip("needs the CUDA wheels")
    text = corpus.compile_case(corpus.Case("integers", "sm_90a", "plain")).read_text()
    assert "subc.cc" in text, "nvcc has another way to divide: this test shows nothing"
    pairs = operands()
    arrays = [
        np.frombuffer(b"".join(wrapped(n).to_bytes(16, "little") for n in column), np.uint8)
        for column in zip(*pairs, strict=True)
    ]
    launch = Launch(
        "divisions", "sm_90a", [*arrays, np.zeros(4 * 16 * COUNT, np.uint8)], [], text,
        entry="divisions", grid=(COUNT // 128, 1, 1), block=(128, 1, 1),
    )  # fmt: skip
    found = on_emulator(launch)[2].tobytes()
    numbers = [int.from_bytes(found[i : i + 16], "little") for i in range(0, len(found), 16)]
    results = list(zip(*(numbers[i * COUNT : (i + 1) * COUNT] for i in range(4)), strict=True))
    wrong = [
        (hex(a), hex(b)) for (a, b), result in zip(pairs, results, strict=True)
        if list(result) != divided(a, b)
    ]  # fmt: skip
    assert not wrong
