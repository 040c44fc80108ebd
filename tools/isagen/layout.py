# SPDX-License-Identifier: Apache-2.0
"""Lays the forms out as the flat rows that src/isa/tables.h describes."""

from __future__ import annotations

from .names import Names
from .notation import Needs
from .operand_rows import OperandWriter
from .pools import Layout, quote
from .table import IGNORED, Form, Slot, Table, TableError


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
    writer = OperandWriter(table, names, layout, form)
    operands = [writer.row(operand) for operand in form.operands]
    rules = []
    for rule in form.rules:
        when = layout.term_run(names, form, rule.when)
        then = layout.term_run(names, form, rule.then)
        needs = layout.needs_index(rule.needs) if rule.needs else 0
        lint = "true" if rule.lint else "false"
        rules.append(f"{{{when}, {then}, {needs}, {lint}, {quote(rule.message)}}}")
    examples = [f"{{{quote(e.text)}, {quote(e.code)}}}" for e in form.examples]
    layout.form_rows.append(
        f"{{{names.opcodes.qualified(form.opcode)}, {layout.slots.run(slots)}, "
        f"{layout.operands.run(operands)}, {layout.rules.run(rules)}, "
        f"{layout.needs_index(form.needs)}, {form.head}, {layout.examples.run(examples)}}}"
    )
    layout.forms.append(
        f"{{{quote(form.opcode)}, {quote(form.syntax)}, {quote(form.manual)}, "
        f"{names.sems.qualified(form.sem)}, {quote(form.reason)}, {quote(form.beyond)}, "
        f"Flow::{form.flow.capitalize()}, Effect::{form.effect.capitalize()}, {len(layout.forms)}}}"
    )


def _slot_row(names: Names, layout: Layout, slot: Slot, group: int) -> str:
    values = [
        f"{{{names.modifiers.qualified(value.text)}, {layout.needs_index(value.needs)}}}"
        for value in slot.values
    ]
    optional = "true" if slot.optional else "false"
    run = layout.values.run(values)
    ignored = "true" if slot.name == IGNORED else "false"
    return f"{{{names.slots.qualified(slot.name)}, {optional}, {ignored}, {group}, {run}}}"


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
        for number, names in enumerate(form.ordered):
            if slot.name in names:
                groups[index] = len(form.slots) + 1 + number
    for i, first in enumerate(form.slots):
        for j in range(i if first.name != IGNORED else 0):
            if domains[first.name] & domains[form.slots[j].name]:
                groups[j] = groups[j] or j + 1
                groups[i] = groups[j]
    return groups
