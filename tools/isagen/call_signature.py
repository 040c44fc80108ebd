# SPDX-License-Identifier: Apache-2.0
"""The operands of a form as parameters of a Python call, for the stubs.

What the words of a spelling decide is decided: which operands are there, what is a vector. Types
are those of pyptx/_inst/operand.pyi. Lengths of vectors, ranges of literals and register types have
no Python type; the tracer checks them.
"""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .operand_text import OperandText
from .resolve import count_of, is_there
from .table import Form, Operand, Table, TableError

# The Python type of each operand kind, in the order they are written.
_TYPES = {
    "reg": "Register", "pred": "Register", "special": "Register", "sink": "Register",
    "sym": "Register", "label": "Register", "notpred": "NegPred", "vec": "Vector", "addr": "Place",
    "imm": "Integer", "fimm": "Real", "paren": "Parenthesized", "neg": "Register",
    "sel": "Register",
}  # fmt: skip
_ORDER = tuple(dict.fromkeys(_TYPES.values()))


@dataclass(frozen=True)
class Parameter:
    """An operand: its name, the types it takes, and whether it may be left out."""

    name: str
    types: frozenset[str]
    optional: bool = False

    @property
    def text(self) -> str:
        """``a: Register | Integer``."""
        types = " | ".join(sorted(self.types, key=_rank))
        return f"{self.name}: {types}{' = ...' if self.optional else ''}"


@dataclass(frozen=True)
class Signature:
    """The operands of one call, in order."""

    parameters: tuple[Parameter, ...]

    @property
    def returns(self) -> str:
        """A call returns its first operand if that is a register."""
        types = self.parameters[0].types if self.parameters else frozenset()
        if types == {"Register"}:
            return "Reg"
        return "Any" if types & {"Register", "Pair"} else "None"

    def counts(self) -> range:
        """How many operands it takes."""
        needed = sum(1 for parameter in self.parameters if not parameter.optional)
        return range(needed, len(self.parameters) + 1)

    def covers(self, other: Signature) -> bool:
        """Whether every call of `other` is one of this."""
        if not set(other.counts()) <= set(self.counts()):
            return False
        pairs = zip(other.parameters, self.parameters, strict=False)
        return all(theirs.types <= ours.types for theirs, ours in pairs)


def _rank(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def signatures(table: Table, form: Form, bound: Mapping[str, str]) -> tuple[Signature, ...]:
    """Return the calls of a form whose slots hold `bound`, none covered by another."""
    shown = [o for o in form.operands if not o.text.condition or is_there(o.text, bound)]
    found = (Signature(choice) for choice in _choices(table, shown, bound))
    return without_covered(found)


def without_covered(found: Iterable[Signature]) -> tuple[Signature, ...]:
    """Return those that no other covers, in their order."""
    kept: list[Signature] = []
    for signature in found:
        if not any(other.covers(signature) for other in kept):
            kept = [other for other in kept if not signature.covers(other)]
            kept.append(signature)
    return tuple(kept)


def _choices(
    table: Table, shown: list[Operand], bound: Mapping[str, str]
) -> Iterator[tuple[Parameter, ...]]:
    """Every way to write or leave out optional operands; those at the end have defaults."""
    plain = [_parameter(table, operand, bound) for operand in shown]
    can_omit = [o.use.optional and not o.text.condition for o in shown]
    tail = len(shown)
    while tail and can_omit[tail - 1]:
        tail -= 1
    inner = [index for index in range(tail) if can_omit[index]]
    after = [Parameter(p.name, p.types, True) for p in plain[tail:]]
    for written in itertools.product((True, False), repeat=len(inner)):
        left_out = {index for index, is_there in zip(inner, written, strict=True) if not is_there}
        before = [p for index, p in enumerate(plain[:tail]) if index not in left_out]
        yield (*before, *after)
        for first in range(1, len(after)):  # an option given where an earlier one is not
            yield (*before, *(Parameter(p.name, p.types) for p in after[first : first + 1]),
                   *after[first + 1 :])  # fmt: skip


def _parameter(table: Table, operand: Operand, bound: Mapping[str, str]) -> Parameter:
    name = re.sub(r"\W", "_", operand.use.name)
    name = f"{name}_" if keyword.iskeyword(name) or name in ("self", "pred") else name
    if operand.use.shape == "address":
        return Parameter(name, frozenset({"Parts" if len(operand.parts) > 1 else "Place"}))
    if operand.use.shape == "pair":
        first, *rest = operand.parts
        types = _types(table, first.text, bound) if rest[0].use.optional else frozenset()
        return Parameter(name, types | {"Pair"})
    return Parameter(name, _types(table, operand.text, bound))


def _types(table: Table, text: OperandText, bound: Mapping[str, str]) -> frozenset[str]:
    kinds = set(text.kinds)
    if text.count and "vec" in kinds and len(kinds) > 1 and not text.bare:
        try:
            count = count_of(table, text, bound)
        except TableError:
            count = 0
        kinds -= {"reg"} if count else set() if text.padded else {"vec"}
    return frozenset(_TYPES[kind] for kind in kinds)
