# SPDX-License-Identifier: Apache-2.0
"""Where in the author's source an instruction was written, worked out when an error is shown.

The extension keeps a code object and an instruction index per instruction, which have lines and
columns (PEP 657); this narrows them to the modifier or argument that an error is about. An
argument is named by its parameter; the extension's own signatures say where that stands. What
only counts by line, such as the emulator's report, asks the extension and reads no source.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pyptx import _core
from pyptx._source.index import Span, node_at, node_span
from pyptx._source.text import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

#: Helpers whose first argument guards what they write.
_GUARD_FIRST = ("assert_", "if_")

#: Helpers that write one instruction of their own arguments: how many positional arguments come
#: before its first operand, and which keywords its operands have. Those that take `*operands` say
#: so themselves.
_HELPERS: dict[str, tuple[int, tuple[str, ...]]] = {
    "cvt": (2, ("dst", "src")),
    "ld": (1, ("dst", "addr")),
    "st": (1, ("addr", "src")),
    "bar.sync": (0, ("n", "count")),
    "bar.arrive": (0, ("n", "count")),
    "named_barrier": (0, ("id", "count")),
    "mma.sync": (0, ("d", "a", "b", "c")),
    "ldmatrix": (0, ("dst", "src")),
    "stmatrix": (0, ("smem", "regs")),
    "tcgen05.alloc": (0, ("addr", "ncols")),
    "tcgen05.dealloc": (0, ("taddr", "ncols")),
    "tcgen05.ld": (0, ("dst", "taddr")),
    "tcgen05.st": (0, ("taddr", "src")),
}


#: The modules whose functions a kernel calls, as they are imported.
_NAMESPACES = ("ptx", "reg", "smem")

#: What an item's index is called.
_INDICES = ("key", "i")

#: Stands for all of an argument, where an index could name one of its elements.
_WHOLE_ARGUMENT = 0xFFFF


def place(
    code: CodeType, span: Span, arguments_map: bool, part: str, index: int, parameter: str = ""
) -> tuple[str, int, int, int, int, str]:
    """Return file, line, column, end line, end column (from 1; 0: not known) and source line.

    `span` is what the call or block of that place covers, with columns of -1 where only its line
    is known.
    """
    file, lines = code.co_filename, lines_of(code)
    is_narrowed = part != "whole"
    if span[1] >= 0 and (is_narrowed or span[2] > span[0]):
        node = node_at(file, lines, span, is_call=is_narrowed)
        if node is not None:
            span = node_span(node) or span
        if part == "argument" and isinstance(node, (ast.Call, ast.Subscript)):
            span = node_span(_given(node, parameter, index)) or span
        elif isinstance(node, ast.Call) and is_narrowed:
            span = _narrowed(node, arguments_map, part, index, parameter) or span
    return _result(file, lines, span)


def _result(file: str, lines: list[str], span: Span) -> tuple[str, int, int, int, int, str]:
    line, column, end_line, end_column = span
    text = lines[line - 1].rstrip("\n") if 0 < line <= len(lines) else ""
    end_line = end_line or line
    return file, line, column + 1, end_line, end_column + 1, text


def _narrowed(call: ast.Call, arguments_map: bool, part: str, index: int, word: str) -> Span | None:
    if part == "guard":
        guard = next((k.value for k in call.keywords if k.arg == "pred"), None)
        if guard is None and isinstance(call.func, ast.Attribute) and call.args:
            guard = call.args[0] if call.func.attr in _GUARD_FIRST else None
        return node_span(guard)
    if part == "operand":
        operands = (0, ()) if arguments_map else _operands(_helper(call.func))
        made = call.func.value if isinstance(call.func, ast.Attribute) else None
        if operands is None and isinstance(made, ast.Call):  # named_barrier(1, count=48).sync()
            call, operands = made, _operands(_helper(made.func))
        return None if operands is None else node_span(_argument(call, *operands, index))
    if not arguments_map:
        return node_span(_worded(call, word)) if part == "modifier" else None
    if part == "spelling":
        return node_span(call.func)
    names = _names_after_inst(call.func)
    wanted = 0 if part == "opcode" else index + 1
    return names[wanted] if wanted < len(names) else None


def _argument(call: ast.Call, first: int, keywords: tuple[str, ...], index: int) -> ast.expr | None:
    """Return the argument that is the operand at `index`."""
    arguments = call.args[: first + index + 1]
    if any(isinstance(argument, ast.Starred) for argument in arguments):
        return None
    if len(arguments) > first + index:
        return arguments[-1]
    name = keywords[index] if index < len(keywords) else None
    return next((k.value for k in call.keywords if name is not None and k.arg == name), None)


def _worded(call: ast.Call, word: str) -> ast.expr | None:
    """Return the one argument of a helper that became the modifier `word`; None where several may.

    A name such as "kind::f16" is passed without what comes before ::, a shape as a tuple.
    """
    if re.fullmatch(r"m\d+n\d+k\d+", word):
        return _value_of(call, "shape")

    def is_it(value: ast.expr) -> bool:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return word == value.value or word.endswith(f"::{value.value}")
        name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", None)
        return word == name

    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    found = [value for value in values if is_it(value)]
    return found[0] if len(found) == 1 else None


def _given(node: ast.Call | ast.Subscript, parameters: str, element: int) -> ast.expr | None:
    """Return what was given for the first of `a|b|...` that was, or the element of it."""
    value: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        value = node.slice if parameters in _INDICES else None
    else:
        for parameter in parameters.split("|"):
            value = value or _value_of(node, parameter)
    if element != _WHOLE_ARGUMENT and isinstance(value, (ast.Tuple, ast.List)):
        elements = value.elts[: element + 1]
        if len(elements) > element and not any(isinstance(e, ast.Starred) for e in elements):
            return elements[-1]
    return value


def _value_of(call: ast.Call, parameter: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    for names in _signatures(call.func):
        if parameter in names:
            return _argument(call, names.index(parameter), (), 0)
    return None


def _signatures(func: ast.expr) -> Iterator[list[str]]:
    """Give the positional parameters of each overload of a helper, or of a method of that name."""
    helper = _helper(func)
    found: object = _core if helper else None
    if helper:
        for name in helper.split("."):
            found = getattr(found, name, None)
    elif isinstance(func, ast.Attribute):
        found = next((getattr(c, func.attr) for c in _classes() if hasattr(c, func.attr)), None)
    for overload in getattr(found, "__nb_signature__", ()):
        try:
            # nanobind writes \\0, \\1, ... for default values.
            tree = ast.parse(re.sub(r"\\\d+", "...", overload[0]) + ": ...")
        except SyntaxError:
            continue
        if isinstance(tree.body[0], ast.FunctionDef):
            names = [a.arg for a in tree.body[0].args.args]
            yield names[1:] if names[:1] == ["self"] else names


def _classes() -> Iterator[type]:
    """Give the classes whose instances an author calls methods of."""
    for module in (_core, _core.smem, _core.ptx, _core.ptx.mbarrier):
        yield from (value for value in vars(module).values() if isinstance(value, type))


def _helper(func: ast.expr) -> str:
    """Return the helper's name from its namespace on, `ptx.bar.sync`; nothing for an alias."""
    names: list[str] = []
    while isinstance(func, ast.Attribute):
        names.append(func.attr)
        func = func.value
    if isinstance(func, ast.Name):
        names.append(func.id)
    while names and names[-1] == "pyptx":
        names.pop()
    return ".".join(names[::-1]) if names and names[-1] in _NAMESPACES else ""


def _operands(helper: str) -> tuple[int, tuple[str, ...]] | None:
    """Return where the operands are among a helper's arguments; None where that is not known."""
    helper = helper.removeprefix("ptx.")
    signature = getattr(getattr(_core.ptx, helper, None), "__nb_signature__", None)
    if signature and "*operands" in signature[0][0]:
        return signature[0][0].partition("*operands")[0].count(","), ()
    return _HELPERS.get(helper)


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
