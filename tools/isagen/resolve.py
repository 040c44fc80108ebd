# SPDX-License-Identifier: Apache-2.0
"""What an operand description means once slots are bound: its types, its count, is it there."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .count import Step, evaluate, number_in
from .notation import NotationError, Term
from .operand_text import OperandText, TypeText
from .table import Table, TableError


def derived_type(table: Table, name: str, function: str, factor: int) -> str:
    """``wide`` doubles, ``part`` takes the .bN of a fraction, ``bits`` drops the kind."""
    entry = table.type_named(name)
    if entry is None:
        raise TableError(f"'{name}' is no type")
    if function == "":
        return name
    prefix = name[0] if function == "wide" else "b"
    bits = {"wide": entry.bits * 2, "part": entry.bits // factor, "bits": entry.bits}
    if function == "scalar":
        return re.sub(r"x\d+$", "", name)
    result = f"{prefix}{bits[function]}"
    if table.type_named(result) is None:
        raise TableError(f"{function}({name}) is {result}, which is no type")
    return result


def type_for(table: Table, text: TypeText, word: str) -> str:
    """Return the type that `text` means when its slot holds `word` (empty: left out)."""
    if text.function != "map":
        return derived_type(table, word, text.function, text.factor) if word else ""
    choices = dict(text.choices)
    found = choices.get(word or "-", "" if not word else choices.get("*"))
    if found is None:
        raise TableError(f"map({text.name}) says nothing of '{word}'")
    if found and table.type_named(found) is None:
        raise TableError(f"'{found}' is no type")
    return found


def types_of(
    table: Table, text: OperandText, bound: Mapping[str, str], slots: set[str]
) -> list[str]:
    """Return the types an operand may have; `bound` maps slots to words."""
    return [
        type_for(table, one, bound.get(one.name, "")) if one.name in slots else one.name
        for one in text.types
    ]


def step_value(table: Table, step: Step, word: str) -> int:
    """Return what a slot that holds `word` counts for."""
    if step.part == "bits":
        entry = table.type_named(word)
        if entry is None:
            raise TableError(f"'{word}' is no type")
        return entry.bits
    try:
        return number_in(word, step.part)
    except NotationError as error:
        raise TableError(f"slot '{step.slot}': {error}") from error


def count_of(table: Table, text: OperandText, bound: Mapping[str, str]) -> int:
    """Return the number of elements; 0: not a vector."""

    def look_up(step: Step) -> int:
        word = bound.get(step.slot, "")
        return step_value(table, step, word) if word else 0

    return evaluate(text.count, look_up)


def holds(term: Term, bound: Mapping[str, str]) -> bool:
    """Whether `term` is true of the words in the slots."""
    word = bound.get(term.slot, "")
    is_true = bool(word) and (not term.values or word in term.values)
    return is_true != term.negated


def is_there(text: OperandText, bound: Mapping[str, str]) -> bool:
    """Whether an operand with a condition stands in the instruction."""
    return all(holds(term, bound) for term in text.condition)
