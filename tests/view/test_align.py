# SPDX-License-Identifier: Apache-2.0
"""Two texts beside each other: what belongs together, however long they are."""

from __future__ import annotations

import itertools
import random
from typing import Any

from pyptx._view import align
from pyptx._view.align import matches
from pyptx._view.diff import CHANGED, ONLY_A, ONLY_B, RENAMED, SAME, view_of_two


def _holds(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """Return the pairs, which rise on both sides and are of equal lines."""
    pairs = matches(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    for (i, j), (after_i, after_j) in itertools.pairwise(pairs):
        assert i < after_i
        assert j < after_j
    return pairs


def test_what_is_equal_is_matched() -> None:
    lines = list("abcabcabc")
    assert _holds(lines, lines) == [(i, i) for i in range(9)]
    assert _holds([], lines) == []
    assert _holds(list("axb"), list("ab")) == [(0, 0), (2, 1)]
    assert len(_holds(list("kitten"), list("sitting"))) == 4


def test_long_texts_are_matched_as_short_ones() -> None:
    """Edits here and there in thousands of lines of few kinds: nearly all lines find theirs."""
    chance = random.Random(3)
    a = [f"line {chance.randrange(40)}" for _ in range(6000)]
    b, kept = [], 0
    for line in a:
        if chance.random() < 0.01:
            b.append("something new")
        if chance.random() > 0.01:
            b.append(line)
            kept += 1
    assert len(_holds(a, b)) >= kept * 0.99


def test_lines_of_one_kind_end() -> None:
    """Nothing occurs once: the texts are cut in the middle, and again, until they are short."""
    a, b = ["same"] * 3000 + ["x"], ["y"] + ["same"] * 2500
    assert len(_holds(a, b)) >= 1250


def test_anchors_are_in_the_same_order_on_both_sides() -> None:
    assert align._rising([(0, 5), (1, 1), (2, 2), (3, 0), (4, 3)]) == [(1, 1), (2, 2), (4, 3)]
    assert align._rising([]) == []


def _data(ptx: list[str]) -> dict[str, Any]:
    pane = {"lines": ptx, "numbers": [], "address": []}
    return {
        **{"title": "k", "target": "sm_80", "compiler": "", "facts": [], "notices": []},
        **{
            "source": {"lines": [], "numbers": []},
            "ptx": pane,
            "sass": {"lines": [], "address": []},
        },
    }


def test_how_rows_differ() -> None:
    a = ["add.u32 %r1, %r0, 1;", ".loc 1 3 1", "mul.lo.u32 %r2, %r1, 4;", "ret;"]
    b = ["add.u32 %r7, %r6, 1;", "mul.lo.u32 %r2, %r1, 8;", "membar.gl;", ".loc 1 9 9", "ret;"]
    pane = view_of_two(_data(a), _data(b)).data["panes"]["ptx"]
    rows = [tuple(pane["rows"][i : i + 3]) for i in range(0, len(pane["rows"]), 3)]
    assert rows == [(0, 0, RENAMED), (1, 1, CHANGED), (-1, 2, ONLY_B), (2, 3, SAME)]
    assert pane["numbers"] == [[1, 3, 4], [1, 2, 3, 5]]
    assert ONLY_A not in pane["rows"][2::3]
