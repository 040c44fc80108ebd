# SPDX-License-Identifier: Apache-2.0
"""Where in the author's source an instruction was written, worked out when an error is shown.

The extension keeps a code object and an instruction index per instruction; this finds the line and
the columns (PEP 657), and narrows them to the modifier or argument that an error is about.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from types import CodeType

#: line, column, end line, end column; columns are byte offsets from 0.
Span: TypeAlias = tuple[int, int, int, int]


def place(
    code: CodeType, offset: int, arguments_map: bool, part: str, index: int
) -> tuple[str, int, int, int, int, str]:
    """Return file, line, column, end line, end column (from 1; 0: not known) and source line."""
    span = _span(code, offset)
    if span is None:
        line = next((n for a, b, n in code.co_lines() if a <= offset < b and n), None)
        return _result(code.co_filename, (line or code.co_firstlineno, -1, 0, -1))
    if part != "whole":
        call = _call_ending_at(code.co_filename, span[2], span[3])
        if call is not None:
            span = _narrowed(call, arguments_map, part, index) or span
    return _result(code.co_filename, span)


def _span(code: CodeType, offset: int) -> Span | None:
    position = next(itertools.islice(code.co_positions(), offset // 2, None), None)
    if position is None:
        return None
    line, end_line, column, end_column = position
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, column, end_line, end_column


def _result(file: str, span: Span) -> tuple[str, int, int, int, int, str]:
    line, column, end_line, end_column = span
    text = linecache.getline(file, line).rstrip("\n")
    end_line = end_line or line
    return file, line, column + 1, end_line, end_column + 1, text


def _call_ending_at(file: str, line: int, column: int) -> ast.Call | None:
    """Return the call expression that ends there; at most one can."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.end_lineno, node.end_col_offset) == (line, column):
            return node
    return None


def _narrowed(call: ast.Call, arguments_map: bool, part: str, index: int) -> Span | None:
    if part == "guard":
        guard = next((k.value for k in call.keywords if k.arg == "pred"), None)
        return _node_span(guard)
    if not arguments_map:
        return None
    if part == "operand":
        arguments = call.args[: index + 1]
        is_plain = len(arguments) > index and not any(isinstance(a, ast.Starred) for a in arguments)
        return _node_span(arguments[index]) if is_plain else None
    names = _names_after_inst(call.func)
    wanted = 0 if part == "opcode" else index + 1
    return names[wanted] if wanted < len(names) else None


def _names_after_inst(func: ast.expr) -> list[Span]:
    """Return the spans of opcode and modifiers in ptx.inst.opcode.modifier; none for an alias."""
    names: list[tuple[str, Span]] = []
    while isinstance(func, ast.Attribute):
        line, column = func.end_lineno or 0, func.end_col_offset or 0
        names.append((func.attr, (line, column - len(func.attr.encode()), line, column)))
        func = func.value
    if isinstance(func, ast.Name):
        names.append((func.id, (0, 0, 0, 0)))
    spans: list[Span] = []
    for name, span in names:
        if name == "inst":
            return spans[::-1]
        spans.append(span)
    return []


def _node_span(node: ast.expr | None) -> Span | None:
    if node is None or node.end_lineno is None or node.end_col_offset is None:
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
