# SPDX-License-Identifier: Apache-2.0
"""Reads operand descriptions.

The manual's, ``out reg|vec type n=vec wider``, and what ptxas does otherwise, ``kinds=fimm exact``.
Each has words of its own (`MANUAL`, `PTXAS`; see isa/README.md) and is refused those
of the other, so that a row reads as the manual does.

* counts: ``n=shape.m*shape.k*bits(atype)/1024`` over what the slots hold
* types: ``b32|f32``, ``wide(type)``, ``map(atype,f16:b32,*:f64)``
* conditions: ``if=multicast&mode=tile|im2col``
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .count import parse_count
from .notation import NOTHING, Needs, NotationError, expand_run, parse_condition, parse_needs
from .operand_text import MOST_TYPES, OperandText, WidthText, parse_types

ROLES = ("in", "out", "inout")
KINDS = (
    "reg", "imm", "fimm", "pred", "notpred", "addr", "vec", "sym", "label", "special", "sink",
    "paren", "neg", "sel",
)  # fmt: skip
TEXMODES = ("unified", "independent")


def parse_operand(text: str, habits: str = "") -> OperandText:
    """Read the manual's description of an operand, and what ptxas does otherwise."""
    operand = OperandText()
    words = text.split()
    if words and words[0] in ROLES:
        operand.role = words.pop(0)
    if not words:
        raise NotationError(f"operand '{text}' has no kind")
    _add_kinds(operand, words.pop(0))
    if operand.odd_kinds:
        raise NotationError(
            f"operand '{text}': '~{operand.odd_kinds[0]}' is a habit of ptxas, not the manual's"
        )
    for word in words:
        if not _read(operand, word, text, MANUAL):
            raise _misplaced(word, text, PTXAS, "a habit of ptxas, not the manual's")
    for word in habits.split():
        if not _read(operand, word, habits, PTXAS):
            raise _misplaced(word, habits, MANUAL, "the manual's, no habit of ptxas")
    _check(operand, f"{text} {habits}".strip())
    return operand


def _key(word: str) -> str:
    """``n=4`` is looked up as ``n=``."""
    name, equals, _ = word.partition("=")
    return name + equals


def _misplaced(word: str, text: str, other: Words, whose: str) -> NotationError:
    is_kind = word in ROLES or word.split("|")[0] in KINDS
    if _key(word) in other or (other is MANUAL and is_kind):
        return NotationError(f"operand '{text}': '{word}' is {whose}")
    return NotationError(f"unknown attribute '{word}' in operand '{text}'")


def _read(operand: OperandText, word: str, text: str, words: Words) -> bool:
    """Take one word; false: it is none of `words`, nor a type where the manual speaks."""
    read = words.get(_key(word))
    if read is None:
        if words is not MANUAL or "=" in word or word in PTXAS:
            return False
        if operand.types:
            raise NotationError(f"operand '{text}' has two types; the second is '{word}'")
        operand.types = parse_types(word)
        return True
    try:
        read(operand, word.partition("=")[2])
    except (NotationError, ValueError) as error:
        raise NotationError(f"'{word}' in operand '{text}': {error}") from error
    return True


def _check(operand: OperandText, text: str) -> None:
    """Words that only go with others, whoever says them."""
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


def _add_kinds(operand: OperandText, value: str) -> None:
    """``reg|imm``; ``fimm|~vec``: a vector is taken, and is a lint."""
    for word in value.split("|"):
        kind = word.removeprefix("~")
        if kind not in KINDS:
            raise NotationError(f"'{kind}' is not one of {', '.join(KINDS)}")
        if kind in operand.kinds:
            raise NotationError(f"'{kind}' stands twice")
        operand.kinds += (kind,)
        operand.odd_kinds += (kind,) if word != kind else ()


def _add_types(operand: OperandText, value: str) -> None:
    if not value:
        raise NotationError("no types")
    operand.types += parse_types(value)
    if len(operand.types) > MOST_TYPES:
        raise NotationError(f"with the manual's they are more than {MOST_TYPES}")


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


def _add_selectors(operand: OperandText, value: str) -> None:
    operand.selectors += tuple(name for word in value.split("|") for name in expand_run(word))


def _set(name: str, read: Callable[[str], object]) -> Callable[[OperandText, str], None]:
    return lambda operand, value: setattr(operand, name, read(value))


def _flag(name: str, value: object = True) -> Callable[[OperandText, str], None]:
    return lambda operand, _: setattr(operand, name, value)


Words = dict[str, Callable[[OperandText, str], None]]

MANUAL: Words = {
    "n=": _set("count", parse_count),
    "if=": _set("condition", parse_condition),
    "needs=": _set("needs", parse_needs),
    "space=": _set("space", str),
    "wider": _flag("wider"),
    "indexed": _flag("indexed"),
    "range=": _set_range,
    "last=": _set_last,
    "oneof=": _set_literals,
    "multiple=": _set_multiple,
    "pow2": _flag("power_of_two"),
    "nonzero": _flag("nonzero"),
    "share": _flag("share"),
    "part": _flag("part"),
    "sel=": _add_selectors,
    "unified=": _set("unified_needs", parse_needs),
    "texmode=": _set("texmode", _texmode),
}
PTXAS: Words = {
    "inout": _flag("role", "inout"),
    "kinds=": _add_kinds,
    "types=": _add_types,
    "sel=": _add_selectors,
    "unified=": _set("unified_needs", parse_needs),
    **{word: _flag("register_class", word) for word in ("plain", "exact", "any", "fixed")},
    "converted": _flag("converted"),
    "also=": _set_also,
    "bits=": _add_widths,
    "narrow": _flag("narrow"),
    "unnamed=": _set("unnamed", parse_condition),
    "unseen": _flag("unseen"),
    "bare": _flag("bare"),
    "padded": _flag("padded"),
    "uncounted": _flag("uncounted"),
    "strict": _flag("strict"),
    "strict=": _set_strict,
    "ordinary": _flag("ordinary"),
    "loose": _flag("loose"),
    "typed": _flag("typed"),
    "cut": _flag("cut"),
}
