# SPDX-License-Identifier: Apache-2.0
"""From where a call or a block stands in a file to its syntax tree, with one parse per text.

An error has several places, each of which may be narrowed, and a parse of a long file takes
longer than the run that failed. A file is known by the text that it has (`text`), never by its
name alone: it may be edited and reloaded, and `<stdin>` names many. It refuses to say what a
node means for an error; see `places`.
"""

from __future__ import annotations

import ast
from typing import TypeAlias

from pyptx._kept import Kept

#: line, column, end line, end column; columns are byte offsets from 0.
Span: TypeAlias = tuple[int, int, int, int]

#: Files whose trees are kept. A tree takes some megabytes, and an error is about few files.
MOST_KEPT = 8

_kept: Kept[str, tuple[list[str], Index]] = Kept(MOST_KEPT)


class Index:
    """The calls, items and blocks of a text, by where they stand."""

    __slots__ = ("blocks", "calls")

    def __init__(self, text: str) -> None:
        #: Calls and items by their end, (line, column): no two have the same.
        self.calls: dict[tuple[int | None, int | None], ast.Call | ast.Subscript] = {}
        #: What the `with` or `for` of a span evaluates; None where a `with` evaluates several.
        self.blocks: dict[Span | None, ast.expr | None] = {}
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, (ast.Call, ast.Subscript)):
                self.calls.setdefault((node.end_lineno, node.end_col_offset), node)
            elif isinstance(node, ast.For):
                self.blocks.setdefault(node_span(node), node.iter)
            elif isinstance(node, ast.With):
                is_one = len(node.items) == 1
                self.blocks.setdefault(
                    node_span(node), node.items[0].context_expr if is_one else None
                )


def node_at(file: str, lines: list[str], span: Span, *, is_call: bool) -> ast.expr | None:
    """Return what the `with` or `for` of that place evaluates, or else the call or item there."""
    index = _index_of(file, lines)
    # Entering and leaving a block have the place of its whole statement.
    if span in index.blocks:
        return index.blocks[span]
    return index.calls.get(span[2:]) if is_call else None


def node_span(node: ast.expr | ast.stmt | None) -> Span | None:
    """Return where a node stands."""
    if node is None or node.end_lineno is None or node.end_col_offset is None:
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _index_of(file: str, lines: list[str]) -> Index:
    kept = _kept.get(file)
    # linecache gives the same list as long as it has the same text; another one is compared.
    if kept is not None and (kept[0] is lines or kept[0] == lines):
        return kept[1]
    index = Index("".join(lines))
    _kept.keep(file, (lines, index))
    return index
