# SPDX-License-Identifier: Apache-2.0
"""Python programs made of the instruction table, for a type checker to read.

Spellings and operands are those of the certification, so what is legal is decided apart from the
stubs and from the automaton they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from certify.fit import Fitter
from certify.instance import draw, modifiers_of
from certify.legal import always
from isagen.inst_stubs import python_name
from isagen.resolve import is_there
from isagen.table import Form, Table

HEAD = """from pyptx import ptx
from pyptx._core import PipeRef, Reg
"""


def legal_program(table: Table, cap: int) -> tuple[str, int]:
    """Return a program with up to `cap` legal spellings of every form, and its number of calls."""
    text, count = HEAD, 0
    for number, form in enumerate(table.forms):
        lines = sorted(set(legal_calls(table, form, cap)))
        count += len(lines)
        if lines:
            text += f"\n# {form.syntax}\n"
            text += f"def form_{number}(r: Reg, pair: PipeRef) -> None:\n"
            text += "".join(f"    {line}\n" for line in lines)
    return text, count


def legal_calls(table: Table, form: Form, cap: int) -> Iterator[str]:
    """Calls of a form; some with every way to write each operand."""
    fitter = Fitter(table, form)
    for index, bound in enumerate(draw(form, always, cap)):
        names = [python_name(word) for word in (form.opcode, *modifiers_of(form, bound))]
        if has_bracket_by_condition(form, bound):
            continue
        node = ".".join(["ptx.inst", *names])
        variants = fitter.variants(bound) if index < 2 else []
        for operands in [fitter.plain(bound), fitter.full(bound), *variants]:
            yield f"{node}({', '.join(map(python_operand, operands))})"


def has_bracket_by_condition(form: Form, bound: dict[str, str]) -> bool:
    """Whether the words ask for an operand in brackets, which the certification leaves out."""
    return any(
        o.use.shape == "address" and o.text.condition and is_there(o.text, bound)
        for o in form.operands
    )


def python_operand(text: str) -> str:
    """Return a Python expression for an operand in PTX."""
    if text.startswith("["):
        return "ptx.addr(r)"
    if re.search(r"\|(?![^{]*})", text):
        return "pair"
    if text.startswith("{"):
        return "[r, r]"
    if text.startswith("("):
        return "(r, r)"
    if text.startswith("-%") or re.fullmatch(r"%\w+\.[bh]\d+", text):
        return '"%r1.b0"'
    if text.startswith("!"):
        return "~r"
    if text.startswith("%"):
        return "r"
    if re.match(r"0[fdFD][0-9a-fA-F]{8}", text):
        return "1.5"
    return text if re.match(r"-?\d", text) else f'"{text}"'


def wrong_program(table: Table) -> tuple[str, list[int]]:
    """Return a program that misspells every form, and the numbers of its wrong lines."""
    lines = [*HEAD.splitlines(), "def wrong(r: Reg, pair: PipeRef) -> None:"]
    wrong = []
    for form in table.forms:
        call = next(legal_calls(table, form, 1), None)
        if call is None:
            continue
        node, _, operands = call.partition("(")
        extra = operands.removesuffix(")") + ", " if operands != ")" else ""
        for text in (
            f"{node}.nosuch({operands}",
            f"ptx.inst.nosuch.{node.removeprefix('ptx.inst.')}({operands}",
            f"{node}({extra}{', '.join('r' * 9)})",
            f"{node}({extra}predicate=r)",
        ):
            lines.append(f"    {text}")
            wrong.append(len(lines))
    return "\n".join(lines) + "\n", wrong
