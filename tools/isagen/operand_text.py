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
CLASSES = ("plain", "exact", "any", "fixed")
TEXMODES = ("unified", "independent")


@dataclass(frozen=True)
class TypeText:
    """One alternative of an operand's type: a name, a function of a slot, or a map."""

    name: str  # a type or a slot
    function: str = ""  # wide, part, bits, scalar, map
    factor: int = 1
    choices: tuple[tuple[str, str], ...] = ()  # of a map; "*": any other word, "-": none


@dataclass(frozen=True)
class WidthText:
    """The sizes of an address's register, where `condition` and `needs` hold."""

    bits: tuple[int, ...]
    condition: tuple[Term, ...] = ()
    needs: Needs = NOTHING


@dataclass
class OperandText:
    """An operand description taken apart; names are not resolved yet."""

    role: str = "in"
    kinds: tuple[str, ...] = ()
    odd_kinds: tuple[str, ...] = ()  # of these, what ptxas takes and the manual does not
    types: tuple[TypeText, ...] = ()
    wider: bool = False
    converted: bool = False
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
    multiple_count: tuple[Step, ...] = ()  # where slots give it
    last: int | None = None  # the highest literal for the last element of a vector
    power_of_two: bool = False
    cut: bool = False
    nonzero: bool = False
    share: bool = False
    part: bool = False
    padded: bool = False
    bare: bool = False
    indexed: bool = False
    strict: bool = False
    unseen: bool = False
    widths: tuple[WidthText, ...] = ()
    unnamed: tuple[Term, ...] = ()
    strict_when: tuple[Term, ...] = ()
    loose: bool = False
    typed: bool = False
    texmode: str = ""
    strict_needs: Needs = NOTHING
    ordinary: bool = False
    uncounted: bool = False
    also: str = ""  # a further type, where `also_needs` holds
    also_needs: Needs = NOTHING
    selectors: tuple[str, ...] = ()


def parse_operand(text: str) -> OperandText:
    """Read an operand description: role, kinds, type, then ``key=value`` and words."""
    operand = OperandText()
    words = text.split()
    if words and words[0] in ("in", "out", "inout"):
        operand.role = words.pop(0)
    if not words:
        raise NotationError(f"operand '{text}' has no kind")
    kinds = words.pop(0).split("|")
    operand.kinds = tuple(kind.removeprefix("~") for kind in kinds)
    operand.odd_kinds = tuple(kind[1:] for kind in kinds if kind.startswith("~"))
    for kind in operand.kinds:
        if kind not in KINDS:
            raise NotationError(f"'{kind}' in operand '{text}' is not one of {', '.join(KINDS)}")
    for word in words:
        _read_attribute(operand, word, text)
    if bool({"sel", "neg"} & {*operand.kinds}) < bool(operand.selectors):
        raise NotationError(f"operand '{text}': sel=b0|b1.. is for the kinds sel and neg")
    if "sel" in operand.kinds and not operand.selectors:
        raise NotationError(f"operand '{text}': the kind sel needs its selectors, sel=b0|b1..")
    if (operand.cut or operand.nonzero) and "imm" not in operand.kinds:
        raise NotationError(f"operand '{text}': cut and nonzero are for a literal")
    if operand.share and "fimm" not in operand.kinds:
        raise NotationError(f"operand '{text}': share is for a floating-point literal")
    if operand.part and "imm" not in operand.kinds:
        raise NotationError(f"operand '{text}': part is for a literal")
    if operand.unnamed and "addr" not in operand.kinds:
        raise NotationError(f"operand '{text}': unnamed=slot is for an address")
    if operand.widths and not operand.unseen and "addr" not in operand.kinds:
        raise NotationError(f"operand '{text}': bits=32|64 is for an address")
    if operand.uncounted and ("vec" not in operand.kinds or operand.count):
        raise NotationError(f"operand '{text}': uncounted is for the kind vec, without n=")
    return operand


def _read_attribute(operand: OperandText, word: str, text: str) -> None:
    key, equals, value = word.partition("=")
    if word == "wider":
        operand.wider = True
    elif word == "converted":
        operand.converted = True
    elif word == "narrow":
        operand.narrow = True
    elif word == "pow2":
        operand.power_of_two = True
    elif word == "nonzero":
        operand.nonzero = True
    elif word == "share":
        operand.share = True
    elif word == "part":
        operand.part = True
    elif word == "cut":
        operand.cut = True
    elif word == "padded":
        operand.padded = True
    elif word == "bare":
        operand.bare = True
    elif word == "indexed":
        operand.indexed = True
    elif word == "strict":
        operand.strict = True
    elif word == "unseen":
        operand.unseen = True
    elif word == "loose":
        operand.loose = True
    elif word == "typed":
        operand.typed = True
    elif word == "ordinary":
        operand.ordinary = True
    elif word == "uncounted":
        operand.uncounted = True
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


def _set_multiple(operand: OperandText, value: str) -> None:
    if value[0].isdigit():
        operand.multiple = int(value, 0)
    else:
        operand.multiple_count = parse_count(value)


def _set_last(operand: OperandText, value: str) -> None:
    match = re.fullmatch(r"0\.\.(\d+)", value)
    if not match or not operand.count:
        raise NotationError("not last=0..high of a vector with n=")
    operand.last = int(match[1])


def _set_literals(operand: OperandText, value: str) -> None:
    operand.literals = tuple(int(number, 0) for number in value.split("|"))
    operand.minimum, operand.maximum = min(operand.literals), max(operand.literals)


def _add_widths(operand: OperandText, value: str) -> None:
    """``32|64``, ``32|64:!space`` (a condition), ``64@:120`` (on these targets)."""
    words, _, needs = value.partition("@")
    sizes, _, condition = words.partition(":")
    bits = tuple(int(size) for size in sizes.split("|"))
    if not {*bits} <= {8, 16, 32, 64}:
        raise NotationError("not sizes of registers: 8, 16, 32 or 64")
    available = parse_needs(needs) if needs else NOTHING
    operand.widths += (WidthText(bits, parse_condition(condition), available),)


def _set_strict(operand: OperandText, value: str) -> None:
    """``slot=word`` (when it holds), ``:90`` (on these targets), ``slot=word@:90`` (both)."""
    condition, at, needs = ("", "@", value) if value[:1] == ":" else value.partition("@")
    operand.strict = True
    operand.strict_when = parse_condition(condition) if condition else ()
    operand.strict_needs = _parse_targets(needs) if at else NOTHING


def _set_also(operand: OperandText, value: str) -> None:
    operand.also, _, needs = value.partition("@")
    operand.also_needs = _parse_targets(needs)


def _parse_targets(text: str) -> Needs:
    needs = parse_needs(text)
    if not needs.targets or needs != Needs(targets=needs.targets):
        raise NotationError(f"'{text}' is not a list of targets such as :90 or :75..89|120")
    return needs


def _texmode(value: str) -> str:
    if value not in TEXMODES:
        raise NotationError(f"not one of {', '.join(TEXMODES)}")
    return value


def _set(name: str, read: Callable[[str], object]) -> Callable[[OperandText, str], None]:
    return lambda operand, value: setattr(operand, name, read(value))


_ATTRIBUTES: dict[str, Callable[[OperandText, str], None]] = {
    "n": _set("count", parse_count),
    "space": _set("space", str),
    "strict": _set_strict,
    "texmode": _set("texmode", _texmode),
    "if": _set("condition", parse_condition),
    "needs": _set("needs", parse_needs),
    "unified": _set("unified_needs", parse_needs),
    "bits": _add_widths,
    "unnamed": _set("unnamed", parse_condition),
    "also": _set_also,
    "range": _set_range,
    "oneof": _set_literals,
    "multiple": _set_multiple,
    "last": _set_last,
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
