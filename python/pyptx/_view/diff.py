# SPDX-License-Identifier: Apache-2.0
"""Two views beside each other: source, PTX and machine code, line against line.

Registers are numbered anew by every change, so that lines belong together by what they do; whether
they are the same to the letter is said as well. `.loc` lines are left out of the PTX.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyptx._view.align import matches
from pyptx._view.view import View

_PTX_REGISTER = re.compile(r"%[a-z]+\d+")
_PTX_LABEL = re.compile(r"\$?\b[A-Za-z_]\w*_\d+\b")
_SASS_REGISTER = re.compile(r"\b(U?[RP])\d+(?:\.reuse)?\b")
_SASS_LABEL = re.compile(r"\.L_x_\d+")
_SASS_HEAD = re.compile(r"(?:@\S+\s+)?([A-Z][A-Z0-9_]*)")
_PTX_HEAD = re.compile(r"\s*(?:@\S+\s+)?([.\w]+?)(?:\.|\s|;|$)")

#: How the two sides of a row differ.
SAME, RENAMED, CHANGED, ONLY_A, ONLY_B = range(5)


def view_of_two(
    a: Mapping[str, Any], b: Mapping[str, Any], names: Sequence[str] | None = None
) -> View:
    """Show two views' data side by side, under these names."""
    panes = {}
    for pane, like, head in (
        ("source", _verbatim, None),
        ("ptx", _ptx_key, _PTX_HEAD),
        ("sass", _sass_key, _SASS_HEAD),
    ):
        lines = [_lines(pane, one) for one in (a, b)]
        texts = [[text for text, _ in side] for side in lines]
        panes[pane] = {
            "lines": texts,
            "numbers": [[number for _, number in side] for side in lines],
            "rows": _rows(texts[0], texts[1], like, head),
        }
    return View(
        {
            "titles": list(names or (a["title"], b["title"])),
            "sides": [
                {key: one[key] for key in ("title", "target", "compiler", "facts", "notices")}
                for one in (a, b)
            ],
            "panes": panes,
        }
    )


def _lines(pane: str, data: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return texts, and the numbers that a reader knows them by; 0 for none, -1 for a label."""
    lines = data[pane]["lines"]
    if pane == "source":
        return list(zip(lines, data[pane]["numbers"], strict=True))
    if pane == "sass":
        return list(zip(lines, data[pane]["address"], strict=True))
    numbered = [(line, number) for number, line in enumerate(lines, 1)]
    return [one for one in numbered if not one[0].lstrip().startswith((".loc", ".file"))]


def _verbatim(text: str) -> str:
    return text.rstrip()


def _ptx_key(text: str) -> str:
    return _PTX_LABEL.sub("L", _PTX_REGISTER.sub("%", text.strip()))


def _sass_key(text: str) -> str:
    return _SASS_LABEL.sub("L", _SASS_REGISTER.sub(r"\1", text))


def _rows(a: Sequence[str], b: Sequence[str], like: Any, head: Any) -> list[int]:
    """Return flat rows: index on each side, -1 for none, and how they differ."""
    rows: list[int] = []
    at_a = at_b = 0
    for i, j in [*matches([like(one) for one in a], [like(one) for one in b]), (len(a), len(b))]:
        rows += _between(a[at_a:i], b[at_b:j], at_a, at_b, head)
        if i < len(a):
            rows += (i, j, SAME if a[i] == b[j] else RENAMED)
        at_a, at_b = i + 1, j + 1
    return rows


def _between(a: Sequence[str], b: Sequence[str], a0: int, b0: int, head: Any) -> list[int]:
    """Rows of lines that are not alike: beside each other where they begin with the same opcode."""
    rows: list[int] = []
    at_a = at_b = 0
    pairs = [] if head is None else matches(_heads(a, head), _heads(b, head))
    for i, j in [*pairs, (len(a), len(b))]:
        for n in range(at_a, i):
            rows += (a0 + n, -1, ONLY_A)
        for n in range(at_b, j):
            rows += (-1, b0 + n, ONLY_B)
        if i < len(a) and j < len(b):
            rows += (a0 + i, b0 + j, CHANGED)
        at_a, at_b = i + 1, j + 1
    return rows


def _heads(lines: Sequence[str], head: Any) -> list[str]:
    return [found[1] if (found := head.match(line)) else line for line in lines]
