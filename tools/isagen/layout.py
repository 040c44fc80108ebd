# SPDX-License-Identifier: Apache-2.0
"""Lays the forms out as the flat rows that src/isa/tables.h describes."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from .model import Form, Operand, Slot, Table, TableError
from .names import Names
from .notation import Needs, Term

_ACCEPT = {
    "reg": "Register", "imm": "Integer", "fimm": "Float", "pred": "Predicate",
    "notpred": "NotPredicate", "addr": "Address", "vec": "Vector", "sym": "Symbol",
    "label": "Label", "special": "Special", "sink": "Sink", "paren": "Parenthesized",
    "pipe": "Pipe",
}  # fmt: skip
_ROLE = {"in": "Source", "out": "Destination", "inout": "Both"}


@dataclass
class Pool:
    """An array of C++ initialisers; equal runs are stored once."""

    rows: list[str] = field(default_factory=list)
    _runs: dict[Hashable, int] = field(default_factory=dict)

    def run(self, rows: list[str]) -> str:
        """Store `rows` next to each other and return their Range."""
        if not rows:
            return "{0, 0}"
        key = tuple(rows)
        if key not in self._runs:
            self._runs[key] = len(self.rows)
            self.rows += rows
        return f"{{{self._runs[key]}, {len(rows)}}}"


@dataclass
class Layout:
    """All flat arrays."""

    needs: Pool = field(default_factory=Pool)
    target_rules: Pool = field(default_factory=Pool)
    slots: Pool = field(default_factory=Pool)
    values: Pool = field(default_factory=Pool)
    operands: Pool = field(default_factory=Pool)
    by_modifier: Pool = field(default_factory=Pool)
    rules: Pool = field(default_factory=Pool)
    terms: Pool = field(default_factory=Pool)
    term_values: Pool = field(default_factory=Pool)
    literals: Pool = field(default_factory=Pool)
    forms: list[str] = field(default_factory=list)
    form_rows: list[str] = field(default_factory=list)
    opcode_forms: dict[str, tuple[int, int]] = field(default_factory=dict)
    _needs_index: dict[Needs, int] = field(default_factory=dict)

    def needs_index(self, needs: Needs) -> int:
        """Return the number of an availability; 0 for none."""
        if needs not in self._needs_index:
            rules = [f"{{{sm}, {_char(suffix)}}}" for sm, suffix in needs.targets]
            self._needs_index[needs] = len(self.needs.rows)
            major, minor = needs.version
            self.needs.rows.append(f"{{{{{major}, {minor}}}, {self.target_rules.run(rules)}}}")
        return self._needs_index[needs]


def _char(suffix: str) -> str:
    return f"'{suffix}'" if suffix else "0"


def quote(text: str) -> str:
    """Return a C++ string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def lay_out(table: Table, names: Names) -> Layout:
    """Lay out every form, grouped by opcode."""
    layout = Layout()
    layout.needs_index(Needs())
    for opcode in names.opcodes.texts:
        forms = [form for form in table.forms if form.opcode == opcode]
        layout.opcode_forms[opcode] = (len(layout.forms), len(forms))
        for form in forms:
            try:
                _add_form(table, names, layout, form)
            except TableError as error:
                raise TableError(f"{form.where}: {error}") from error
    return layout


def _add_form(table: Table, names: Names, layout: Layout, form: Form) -> None:
    groups = order_groups(table, form)
    slots = [_slot_row(names, layout, *pair) for pair in zip(form.slots, groups, strict=True)]
    operands = [_operand_row(table, names, layout, form, operand) for operand in form.operands]
    rules = []
    for rule in form.rules:
        when = layout.terms.run([_term_row(names, layout, form, term) for term in rule.when])
        then = layout.terms.run([_term_row(names, layout, form, term) for term in rule.then])
        needs = layout.needs_index(rule.needs) if rule.needs else 0
        rules.append(f"{{{when}, {then}, {needs}, {quote(rule.message)}}}")
    layout.form_rows.append(
        f"{{{names.opcodes.qualified(form.opcode)}, {layout.slots.run(slots)}, "
        f"{layout.operands.run(operands)}, {layout.rules.run(rules)}, "
        f"{layout.needs_index(form.needs)}, {form.head}}}"
    )
    layout.forms.append(
        f"{{{quote(form.opcode)}, {quote(form.syntax)}, {quote(form.manual)}, "
        f"{names.sems.qualified(form.sem)}, {len(layout.forms)}}}"
    )


def _slot_row(names: Names, layout: Layout, slot: Slot, group: int) -> str:
    values = [
        f"{{{names.modifiers.qualified(value.text)}, {layout.needs_index(value.needs)}}}"
        for value in slot.values
    ]
    optional = "true" if slot.optional else "false"
    run = layout.values.run(values)
    return f"{{{names.slots.qualified(slot.name)}, {optional}, {group}, {run}}}"


def order_groups(table: Table, form: Form) -> list[int]:
    """For each slot the group of slots that only order tells apart; 0 where order is free.

    Two slots of a form are such a pair when some form of the opcode gives one what another gives
    the other: in cvt, .dtype and .atype share .f32 even where one row keeps them disjoint.
    """
    domains: dict[str, set[str]] = {}
    for other in table.forms:
        if other.opcode == form.opcode:
            for slot in other.slots:
                domains.setdefault(slot.name, set()).update(v.text for v in slot.values)
    groups = [0] * len(form.slots)
    for index, slot in enumerate(form.slots):
        if slot.name in form.ordered:
            groups[index] = len(form.slots) + 1
    for i, first in enumerate(form.slots):
        for j in range(i):
            if domains[first.name] & domains[form.slots[j].name]:
                groups[j] = groups[j] or j + 1
                groups[i] = groups[j]
    return groups


def _term_row(names: Names, layout: Layout, form: Form, term: Term) -> str:
    values = layout.term_values.run([names.modifiers.qualified(v) for v in term.values])
    negated = "true" if term.negated else "false"
    return f"{{{_slot_number(form, term.slot)}, {negated}, {values}}}"


def _slot_number(form: Form, name: str) -> int:
    for index, slot in enumerate(form.slots):
        if slot.name == name:
            return index
    raise TableError(f"no slot '{name}'")


def _operand_row(table: Table, names: Names, layout: Layout, form: Form, operand: Operand) -> str:
    text = operand.text
    accept = " | ".join(f"Accept::{_ACCEPT[kind]}" for kind in text.kinds)
    slot_names = {slot.name for slot in form.slots}
    space_slot, space = -1, ""
    if text.space in slot_names:
        space_slot = _slot_number(form, text.space)
    elif text.space:
        space = text.space
        if space not in names.modifiers.texts:
            raise TableError(f"space '{space}' is neither a slot nor a modifier")
    condition = _slot_number(form, text.condition) if text.condition else -1
    optional = operand.use.optional and not text.condition
    low = "INT64_MIN" if text.minimum is None else str(text.minimum)
    high = "INT64_MAX" if text.maximum is None else str(text.maximum)
    properties = ", ".join(
        (
            _type_property(table, names, layout, form, text.type),
            _count_property(names, layout, form, text.count),
            _count_property(names, layout, form, text.coordinates),
        )
    )
    return (
        f"{{{quote(operand.use.name)}, {accept}, Role::{_ROLE[text.role]}, "
        f"Width::{'AtLeast' if text.wider else 'Exact'}, {'true' if optional else 'false'}, "
        f"{space_slot}, {names.modifiers.qualified(space)}, {condition}, "
        f"{properties}, "
        f"{low}, {high}, {text.multiple}, {layout.literals.run([str(n) for n in text.literals])}}}"
    )


def _property(
    names: Names, layout: Layout, form: Form, slot_name: str, value: Callable[[str], str]
) -> str:
    number = _slot_number(form, slot_name)
    rows = [
        f"{{{names.modifiers.qualified(v.text)}, {value(v.text)}}}"
        for v in form.slots[number].values
    ]
    return f"{{0, {number}, {layout.by_modifier.run(rows)}}}"


def _type_property(table: Table, names: Names, layout: Layout, form: Form, text: str) -> str:
    if not text:
        return "{0, -1, {0, 0}}"
    slot_names = {slot.name for slot in form.slots}
    if text not in slot_names and table.type_named(text):
        return f"{{{names.types.add(text)}, -1, {{0, 0}}}}"
    match = re.fullmatch(r"(?:(wide|part|bits|scalar)\()?([\w:]+)(?:,(\d+))?\)?", text)
    if not match or match[2] not in slot_names:
        raise TableError(f"'{text}' is neither a type nor made from a slot")
    function, slot_name, factor = match[1] or "", match[2], int(match[3] or 1)
    return _property(
        names, layout, form, slot_name,
        lambda value: str(names.types.add(derived_type(table, value, function, factor))),
    )  # fmt: skip


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


def _count_property(names: Names, layout: Layout, form: Form, text: str) -> str:
    if not text:
        return "{0, -1, {0, 0}}"
    if text.isdigit():
        return f"{{{text}, -1, {{0, 0}}}}"
    match = re.fullmatch(r"([\w:]+)(?:\.([a-z]))?(?:([/*])(\d+))?", text)
    if not match:
        raise TableError(f"'{text}' is not a number of elements")
    slot_name, letter, operator, factor = match[1], match[2] or "", match[3], int(match[4] or 1)

    def count(value: str) -> str:
        found = re.search(rf"{letter}(\d+)", value)
        if not found:
            raise TableError(f"'{value}' of slot '{slot_name}' has no number '{letter}'")
        number = int(found[1])
        return str(number // factor if operator == "/" else number * factor)

    return _property(names, layout, form, slot_name, count)
