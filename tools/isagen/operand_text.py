# SPDX-License-Identifier: Apache-2.0
"""Operand descriptions, ``out reg|vec type n=vec wider``, and the expressions inside them.

* counts: ``n=shape.m*shape.k*bits(atype)/1024`` over what the slots hold
* types: ``b32|f32``, ``wide(type)``, ``map(atype,f16:b32,*:f64)``
* conditions: ``if=multicast&mode=tile|im2col``
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .count import Step, parse_count
from .notation import (
    NAME,
    NOTHING,
    Needs,
    NotationError,
    Term,
    expand_run,
    parse_condition,
    parse_needs,
)

KINDS = (
    "reg", "imm", "fimm", "pred", "notpred", "addr", "vec", "sym", "label", "special", "sink",
    "paren", "neg", "sel",
)  # fmt: skip
CLASSES = ("plain", "exact", "any")


@dataclass(frozen=True)
class TypeText:
    """One alternative of an operand's type: a name, a function of a slot, or a map."""

    name: str  # a type or a slot
    function: str = ""  # wide, part, bits, scalar, map
    factor: int = 1
    choices: tuple[tuple[str, str], ...] = ()  # of a map; "*": any other word, "-": none


@dataclass
class OperandText:
    """An operand description taken apart; names are not resolved yet."""

    role: str = "in"
    kinds: tuple[str, ...] = ()
    types: tuple[TypeText, ...] = ()
    wider: bool = False
    narrow: bool = False
    register_class: str = ""
    count: tuple[Step, ...] = ()
    space: str = ""
    condition: tuple[Term, ...] = ()
    needs: Needs = NOTHING
    unified_needs: Needs = NOTHING
    minimum: int | None = None
    maximum: int | None = None
    literals: tuple[int, ...] = ()
    multiple: int = 1
    power_of_two: bool = False
    padded: bool = False
    bare: bool = False
    indexed: bool = False
    strict: bool = False
    selectors: tuple[str, ...] = ()


def parse_operand(text: str) -> OperandText:
    """Read an operand description: role, kinds, type, then ``key=value`` and words."""
    operand = OperandText()
    words = text.split()
    if words and words[0] in ("in", "out", "inout"):
        operand.role = words.pop(0)
    if not words:
        raise NotationError(f"operand '{text}' has no kind")
    operand.kinds = tuple(words.pop(0).split("|"))
    for kind in operand.kinds:
        if kind not in KINDS:
            raise NotationError(f"'{kind}' in operand '{text}' is not one of {', '.join(KINDS)}")
    for word in words:
        _read_attribute(operand, word, text)
    if bool({"sel", "neg"} & {*operand.kinds}) < bool(operand.selectors):
        raise NotationError(f"operand '{text}': sel=b0|b1.. is for the kinds sel and neg")
    if "sel" in operand.kinds and not operand.selectors:
        raise NotationError(f"operand '{text}': the kind sel needs its selectors, sel=b0|b1..")
    return operand


def _read_attribute(operand: OperandText, word: str, text: str) -> None:
    key, equals, value = word.partition("=")
    if word == "wider":
        operand.wider = True
    elif word == "narrow":
        operand.narrow = True
    elif word == "pow2":
        operand.power_of_two = True
    elif word == "padded":
        operand.padded = True
    elif word == "bare":
        operand.bare = True
    elif word == "indexed":
        operand.indexed = True
    elif word == "strict":
        operand.strict = True
    elif word in CLASSES:
        operand.register_class = word
    elif not equals:
        if operand.types:
            raise NotationError(f"operand '{text}' has two types; the second is '{word}'")
        operand.types = parse_types(word)
    elif key in _ATTRIBUTES:
        try:
            _ATTRIBUTES[key](operand, value)
        except (NotationError, ValueError) as error:
            raise NotationError(f"'{word}' in operand '{text}': {error}") from error
    else:
        raise NotationError(f"unknown attribute '{word}' in operand '{text}'")


def _set_range(operand: OperandText, value: str) -> None:
    match = re.fullmatch(r"(-?\w+)\.\.(-?\w+)", value)
    if not match:
        raise NotationError("not range=low..high")
    operand.minimum, operand.maximum = int(match[1], 0), int(match[2], 0)


def _set_literals(operand: OperandText, value: str) -> None:
    operand.literals = tuple(int(number, 0) for number in value.split("|"))
    operand.minimum, operand.maximum = min(operand.literals), max(operand.literals)


def _set(name: str, read: Callable[[str], object]) -> Callable[[OperandText, str], None]:
    return lambda operand, value: setattr(operand, name, read(value))


_ATTRIBUTES: dict[str, Callable[[OperandText, str], None]] = {
    "n": _set("count", parse_count),
    "space": _set("space", str),
    "if": _set("condition", parse_condition),
    "needs": _set("needs", parse_needs),
    "unified": _set("unified_needs", parse_needs),
    "range": _set_range,
    "oneof": _set_literals,
    "multiple": _set("multiple", lambda value: int(value, 0)),
    "sel": _set(
        "selectors", lambda value: tuple(s for w in value.split("|") for s in expand_run(w))
    ),
}


def parse_types(text: str) -> tuple[TypeText, ...]:
    """``b32|f32``, ``part(type,2)``, ``map(slot,f16:b32,*:f64)``; parentheses hide the bars."""
    types = tuple(_parse_type(word) for word in re.findall(r"(?:[^|(]|\([^)]*\))+", text))
    if len(types) > 4:
        raise NotationError(f"'{text}' has more than four alternatives")
    return types


def _parse_type(text: str) -> TypeText:
    match = re.fullmatch(rf"(?:(wide|part|bits|scalar|map)\()?({NAME})(?:,([^)]*))?(\))?", text)
    if not match or bool(match[1]) != bool(match[4]):
        raise NotationError(f"'{text}' is not a type")
    function, name, rest = match[1] or "", match[2], match[3] or ""
    if function == "map":
        # A word may hold '::', a type never does: the last colon divides.
        choices = tuple(choice.rpartition(":")[::2] for choice in rest.split(","))
        if not all(word and type_name for word, type_name in choices):
            raise NotationError(f"'{text}' is not map(slot,word:type,...)")
        return TypeText(name, "map", 1, choices)
    if rest and function != "part":
        raise NotationError(f"'{text}' has a number that {function or 'a type'} does not take")
    return TypeText(name, function, int(rest or 1))
