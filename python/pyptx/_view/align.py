# SPDX-License-Identifier: Apache-2.0
"""Two sequences of lines beside each other: which belong together, in little time for long ones.

Short ones are compared fully. Long ones are cut first where a few lines in a row occur once on each
side, the patience method; where nothing occurs once, in the middle.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

#: Lines of one side times lines of the other that are compared fully.
_SMALL = 40_000
_GRAMS = (1, 2, 4, 8)

Pair = tuple[int, int]


def matches(a: Sequence[str], b: Sequence[str]) -> list[Pair]:
    """Return which lines are each other's, in order: indices into both."""
    return list(_matches(a, b, 0, len(a), 0, len(b)))


def _matches(
    a: Sequence[str], b: Sequence[str], a0: int, a1: int, b0: int, b1: int
) -> Iterator[Pair]:
    while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
        yield a0, b0
        a0, b0 = a0 + 1, b0 + 1
    tail = 0
    while a0 < a1 - tail and b0 < b1 - tail and a[a1 - tail - 1] == b[b1 - tail - 1]:
        tail += 1
    a1, b1 = a1 - tail, b1 - tail
    if a0 < a1 and b0 < b1:
        if (a1 - a0) * (b1 - b0) <= _SMALL:
            yield from _fully(a, b, a0, a1, b0, b1)
        else:
            yield from _in_parts(a, b, a0, a1, b0, b1)
    yield from ((a1 + i, b1 + i) for i in range(tail))


def _fully(
    a: Sequence[str], b: Sequence[str], a0: int, a1: int, b0: int, b1: int
) -> Iterator[Pair]:
    blocks = difflib.SequenceMatcher(None, a[a0:a1], b[b0:b1], autojunk=False)
    for i, j, size in blocks.get_matching_blocks():
        yield from ((a0 + i + n, b0 + j + n) for n in range(size))


def _in_parts(
    a: Sequence[str], b: Sequence[str], a0: int, a1: int, b0: int, b1: int
) -> Iterator[Pair]:
    anchors = next((found for k in _GRAMS if (found := _anchors(a, b, a0, a1, b0, b1, k))), [])
    if not anchors:
        middle_a, middle_b = (a0 + a1) // 2, (b0 + b1) // 2
        yield from _matches(a, b, a0, middle_a, b0, middle_b)
        yield from _matches(a, b, middle_a, a1, middle_b, b1)
        return
    for i, j in anchors:
        if i < a0 or j < b0:
            continue  # part of what the one before it matched
        yield from _matches(a, b, a0, i, b0, j)
        yield i, j
        a0, b0 = i + 1, j + 1
    yield from _matches(a, b, a0, a1, b0, b1)


def _anchors(
    a: Sequence[str], b: Sequence[str], a0: int, a1: int, b0: int, b1: int, k: int
) -> list[Pair]:
    """Where `k` lines in a row occur once on each side; the longest series in the same order."""

    def once(lines: Sequence[str], first: int, last: int) -> dict[tuple[str, ...], int]:
        grams = {i: tuple(lines[i : i + k]) for i in range(first, last - k + 1)}
        counts = Counter(grams.values())
        return {gram: i for i, gram in grams.items() if counts[gram] == 1}

    in_b = once(b, b0, b1)
    pairs = [(i, in_b[gram]) for gram, i in once(a, a0, a1).items() if gram in in_b]
    return _rising(pairs)


def _rising(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the longest series of pairs that rises on both sides; they rise on the first."""
    ends: list[int] = []  # of a series of each length the least second number
    last: list[int] = []  # and which pair it ends with
    before = [-1] * len(pairs)
    for index, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        before[index] = last[at - 1] if at else -1
        ends[at : at + 1] = [j]
        last[at : at + 1] = [index]
    series: list[Pair] = []
    index = last[-1] if last else -1
    while index >= 0:
        series.append(pairs[index])
        index = before[index]
    return series[::-1]
