# SPDX-License-Identifier: Apache-2.0
"""An operand description taken apart, and the types inside it: ``b32|f32``, ``wide(type)``.

operand_reader.py reads the words around the types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .count import Step
from .notation import NAME, NOTHING, Needs, NotationError, Term

MOST_TYPES = 4  # of an operand: isa::OperandSpec has room for so many


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
    odd_kinds: tuple[str, ...] = ()  # of these, what is a lint
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


def parse_types(text: str) -> tuple[TypeText, ...]:
    """``b32|f32``, ``part(type,2)``, ``map(slot,f16:b32,*:f64)``; parentheses hide the bars."""
    types = tuple(_parse_type(word) for word in re.findall(r"(?:[^|(]|\([^)]*\))+", text))
    if len(types) > MOST_TYPES:
        raise NotationError(f"'{text}' has more than {MOST_TYPES} alternatives")
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
