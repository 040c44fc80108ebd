# SPDX-License-Identifier: Apache-2.0
"""Prints operands as the OperandRow initialisers of src/isa/tables.h."""

from __future__ import annotations

from collections.abc import Callable

from .count import Step
from .names import Names
from .notation import Needs
from .operand_text import OperandText, TypeText
from .pools import Layout, quote
from .resolve import step_value, type_for
from .table import Form, Operand, Table, TableError

_ACCEPT = {
    "reg": "Register", "imm": "Integer", "fimm": "Float", "pred": "Predicate",
    "notpred": "NotPredicate", "addr": "Address", "vec": "Vector", "sym": "Symbol",
    "label": "Label", "special": "Special", "sink": "Sink", "paren": "Parenthesized",
    "neg": "Negated", "sel": "Selector",
}  # fmt: skip
_ROLE = {"in": "Source", "out": "Destination", "inout": "Both"}
_CLASS = {"plain": "Plain", "exact": "Exact", "any": "Any", "fixed": "Fixed"}
_STEP = {
    "number": "Number", "slot": "Slot", "+": "Add", "-": "Subtract", "*": "Multiply", "/": "Divide",
    "ceil": "Ceiling", "min": "Minimum", "max": "Maximum",
}  # fmt: skip


class OperandWriter:
    """The operands of one form."""

    def __init__(self, table: Table, names: Names, layout: Layout, form: Form) -> None:
        self.table = table
        self.names = names
        self.layout = layout
        self.form = form
        self.slots = {slot.name for slot in form.slots}

    def row(self, operand: Operand) -> str:
        """Return the initialiser; only what differs from the defaults is named, in order."""
        text, use = operand.text, operand.use
        parts = self.layout.operands.run([self.row(part) for part in operand.parts])
        condition = self.layout.term_run(self.names, self.form, text.condition)
        fields = {
            "name": quote(use.name),
            "accept": self._accept(operand),
            "odd": " | ".join(f"Accept::{_ACCEPT[kind]}" for kind in text.odd_kinds),
            "role": f"Role::{_ROLE[text.role]}" if text.role != "in" else "",
            "width": _width(text),
            "registers": self._registers(text),
            "optional": "true" if use.optional and not text.condition else "",
            "is_pair": "true" if use.shape == "pair" else "",
            "unified": "true" if use.unified else "",
            "narrow": "true" if text.narrow else "",
            "power_of_two": "true" if text.power_of_two else "",
            "cut": "true" if text.cut else "",
            "nonzero": "true" if text.nonzero else "",
            "share": "true" if text.share else "",
            "part": "true" if text.part else "",
            "padded": "true" if text.padded else "",
            "bare": "true" if text.bare else "",
            "indexed": "true" if text.indexed else "",
            "strict": "true" if text.strict else "",
            "strict_when": self.layout.term_run(self.names, self.form, text.strict_when)
            if text.strict_when
            else "",
            "loose": "true" if text.loose else "",
            "typed": "true" if text.typed else "",
            "unseen": "true" if text.unseen else "",
            "texmode": f"TextureMode::{text.texmode.capitalize()}" if text.texmode else "",
            "ordinary": "true" if text.ordinary else "",
            "uncounted": "true" if text.uncounted else "",
            **self._space(text),
            "unnamed": self.layout.term_run(self.names, self.form, text.unnamed)
            if text.unnamed
            else "",
            "condition": condition if text.condition else "",
            "types": self._types(text),
            "count": self._count(text.count),
            "minimum": "" if text.minimum is None else _literal(text.minimum),
            "maximum": "" if text.maximum is None else _literal(text.maximum),
            "multiple": "" if text.multiple == 1 else str(text.multiple),
            "multiple_count": self._count(text.multiple_count),
            "last": "" if text.last is None else str(text.last),
            "literals": self._run([_literal(number) for number in text.literals]),
            "selectors": self._run([str(packed(selector)) for selector in text.selectors]),
            "needs": self._needs(text.needs),
            "unified_needs": self._needs(text.unified_needs),
            "widths": self._widths(text),
            "strict_needs": self._needs(text.strict_needs),
            "also": self._also(text),
            "also_needs": self._needs(text.also_needs),
            "parts": parts if operand.parts else "",
        }
        return "{" + ", ".join(f".{key} = {value}" for key, value in fields.items() if value) + "}"

    def _accept(self, operand: Operand) -> str:
        """Return what fits: an address in a bracket; in ``d{|p}`` what d accepts, or the pair."""
        if operand.use.shape == "address":
            return "Accept::Address"
        kinds = [f"Accept::{_ACCEPT[kind]}" for kind in operand.text.kinds]
        if operand.use.shape == "pair":
            is_optional = operand.parts[1].use.optional or operand.parts[1].text.condition
            kinds = (kinds if is_optional else []) + ["Accept::Pipe"]
        return " | ".join(kinds)

    def _registers(self, text: OperandText) -> str:
        """Return the class; a type that no choice of words gives is a fixed one."""
        choices = {
            slot.name for slot in self.form.slots if [v.text for v in slot.values] != [slot.name]
        }
        is_fixed = all(one.name not in choices for one in text.types)
        name = _CLASS.get(text.register_class, "Fixed" if text.types and is_fixed else "")
        return f"Registers::{name}" if name else ""

    def _run(self, rows: list[str]) -> str:
        return self.layout.literals.run(rows) if rows else ""

    def _needs(self, needs: Needs) -> str:
        return str(self.layout.needs_index(needs)) if needs != Needs() else ""

    def _also(self, text: OperandText) -> str:
        if text.also and not self.table.type_named(text.also):
            raise TableError(f"also={text.also}: no such type")
        return self.names.types.qualified(text.also) if text.also else ""

    def _space(self, text: OperandText) -> dict[str, str]:
        if not text.space:
            return {}
        if text.space in self.slots:
            return {"space_slot": str(self.form.slot_number(text.space))}
        if text.space not in self.names.modifiers.texts:
            raise TableError(f"space '{text.space}' is neither a slot nor a modifier")
        return {"space": self.names.modifiers.qualified(text.space)}

    def _widths(self, text: OperandText) -> str:
        rows = []
        for one in text.widths:
            condition = self.layout.term_run(self.names, self.form, one.condition)
            needs = self.layout.needs_index(one.needs) if one.needs != Needs() else 0
            rows.append(f"{{{sum(one.bits)}, {condition}, {needs}}}")
        return self.layout.widths.run(rows) if rows else ""

    def _types(self, text: OperandText) -> str:
        rows = [self._type_property(one) for one in text.types]
        return self.layout.properties.run(rows) if rows else ""

    def _type_property(self, text: TypeText) -> str:
        if text.name not in self.slots:
            if text.function or not self.table.type_named(text.name):
                raise TableError(f"'{text.name}' is neither a type nor made from a slot")
            return f"{{{self.names.types.add(text.name)}, -1, {{0, 0}}}}"
        number = self._type_number(type_for(self.table, text, "") if text.function == "map" else "")
        return self._property(
            text.name, number, lambda word: self._type_number(type_for(self.table, text, word))
        )

    def _type_number(self, name: str) -> int:
        return self.names.types.add(name) if name else 0

    def _property(self, slot: str, unbound: int, value: Callable[[str], int]) -> str:
        number = self.form.slot_number(slot)
        rows = [
            f"{{{self.names.modifiers.qualified(v.text)}, {value(v.text)}}}"
            for v in self.form.slots[number].values
        ]
        return f"{{{unbound}, {number}, {self.layout.by_modifier.run(rows)}}}"

    def _count(self, steps: tuple[Step, ...]) -> str:
        rows = [f"{{CountOp::{_STEP[step.op]}, {self._step_property(step)}}}" for step in steps]
        return self.layout.steps.run(rows) if rows else ""

    def _step_property(self, step: Step) -> str:
        if step.op != "slot":
            return f"{{{step.value}, -1, {{0, 0}}}}"
        return self._property(step.slot, 0, lambda word: step_value(self.table, step, word))


def _width(text: OperandText) -> str:
    if text.converted:
        return "Width::Converted"
    return "Width::AtLeast" if text.wider else ""


def packed(selector: str) -> int:
    """Return the characters of a video selector as a little-endian number: ``b0`` -> 0x3062."""
    if not 0 < len(selector) <= 8:
        raise TableError(f"'{selector}' is not a video selector")
    return int.from_bytes(selector.encode("ascii"), "little")


def _literal(number: int) -> str:
    return "INT64_MIN" if number == -(2**63) else str(number)
