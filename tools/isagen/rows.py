# SPDX-License-Identifier: Apache-2.0
"""Loads the rows of isa/instructions; refuses one that says too little or too much."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from .habits import check_habits, check_shared_rules
from .notation import Needs, NotationError, Rule, Term, Value, parse_needs, parse_rule, parse_values
from .operand_reader import parse_operand
from .operand_text import WidthText
from .row_tables import Description, Row, read_rows, slot_names
from .syntax_line import OperandUse, SlotUse, parse_syntax
from .table import IGNORED, Example, Form, Operand, Slot, Table, TableError

FLOWS = ("next", "jump", "end", "call")  # where execution goes on
EFFECTS = ("", "reads", "acts")  # what it does besides giving its results
MAXIMUM_SLOTS = 64  # the bits of a SlotSet (src/isa/form_index.h)


def load_instructions(table: Table, data: dict[str, Any], file: str) -> None:
    """Add the rows of one file of isa/instructions."""
    unknown = set(data) - {"instruction"}
    if unknown:
        raise TableError(f"{file}: unknown key '{sorted(unknown)[0]}'")
    for shared in data.get("instruction", []):
        rows = read_rows(shared, file)
        check_shared_rules(table, rows)
        for row in rows:
            try:
                table.forms.append(_load_form(table, row))
            except NotationError as error:
                raise TableError(f"{row.where}: {error}") from error


def _load_form(table: Table, row: Row) -> Form:
    where, syntax = row.where, row.taken
    slots = tuple(_load_slot(table, row, use) for use in syntax.slots)
    ordered = tuple(tuple(group.split()) for group in row.habit("ordered").split(","))
    slots += _ignored_slot(table, row.habit("ignored"), slots, ordered)
    sem, reason = _split_sem(row.text("sem"), where)
    form = Form(
        opcode=syntax.opcode,
        syntax=row.line,
        manual=row.text("manual"),
        sem=sem,
        reason=reason,
        beyond=row.why,
        flow=row.text("flow", "next"),
        stated_effect=row.text("effect"),
        needs=parse_needs(row.text("needs")),
        slots=slots,
        operands=tuple(_load_operand(use, row, slots) for use in syntax.operands),
        rules=_load_rules(table, row, slots)
        + _together_rules(syntax.together)
        + _ignored_rules(slots),
        examples=_load_examples(row, syntax.opcode),
        where=where,
        line=row.text("syntax"),
        head=_head_length(row.text("head"), row.line, where),
        ordered=ordered,
    )
    _check_form(table, form)
    check_habits(table, row)
    return form


def _load_slot(table: Table, row: Row, use: SlotUse) -> Slot:
    """Return the slot with the manual's values first; of a slot of ptxas's own, with ptxas's."""
    text = row.slots.get(use.name, Description())
    is_manual = use.name in slot_names(row.syntax)
    words = f"{text.manual} {text.ptxas}".strip() if is_manual else text.ptxas or text.manual
    values = _load_values(table, words or use.default)
    own = {value.text for value in (_load_values(table, text.ptxas) if is_manual else values)}
    if row.why:
        own = set()  # all of the row is ptxas's
    marked = tuple(replace(value, is_ptxas=value.text in own) for value in values)
    return Slot(use.name, use.optional, marked)


def _split_sem(text: str, where: str) -> tuple[str, str]:
    """``add`` -> ("add", ""); ``none: why`` -> ("", "why")."""
    head, _, reason = text.partition(":")
    if head != "none":
        return text, ""
    if not reason.strip():
        raise TableError(f"{where}: sem '{text}' gives no reason ('none: why')")
    return "", reason.strip()


def _load_operand(use: OperandUse, row: Row, slots: tuple[Slot, ...]) -> Operand:
    """Describe an operand and its parts; a bracket around one address has no parts."""
    parts = tuple(_load_operand(part, row, slots) for part in use.parts)
    if parts:
        is_plain = use.shape == "address" and len(parts) == 1 and "addr" in parts[0].text.kinds
        return Operand(use, parts[0].text, () if is_plain else parts)
    described = row.operands.get(use.name, Description())
    if not described.manual:
        raise TableError(f"{row.where}: operand '{use.name}' is not described")
    text = parse_operand(described.manual, described.ptxas)
    condition = _narrow_condition(text.condition, slots)
    if condition is None:
        raise TableError(f"{row.where}: operand '{use.name}' is never there")
    text.condition = condition
    text.unnamed = _narrow_condition(text.unnamed, slots) or ()
    text.widths = tuple(filter(None, (_narrow_widths(one, slots) for one in text.widths)))
    strict = [narrow_term(term, _known(slots)) for term in text.strict_when]
    text.strict = text.strict and all(term is not False for term in strict)
    text.strict_when = tuple(term for term in strict if isinstance(term, Term))
    return Operand(use, text)


def _narrow_widths(text: WidthText, slots: tuple[Slot, ...]) -> WidthText | None:
    condition = _narrow_condition(text.condition, slots)
    return None if condition is None else WidthText(text.bits, condition, text.needs)


def _narrow_condition(terms: tuple[Term, ...], slots: tuple[Slot, ...]) -> tuple[Term, ...] | None:
    """`terms` with only the slots of one row; None where they never hold there."""
    known = [narrow_term(term, _known(slots)) for term in terms]
    if any(term is False for term in known):
        return None
    return tuple(term for term in known if isinstance(term, Term))


def _ignored_slot(
    table: Table, words: str, slots: tuple[Slot, ...], ordered: tuple[tuple[str, ...], ...]
) -> tuple[Slot, ...]:
    """Return the slot, if any, of words that ptxas reads and drops.

    Those that mean something to the row are left out, unless their place tells them apart.
    """
    is_placed = any(IGNORED in group for group in ordered)
    known = set() if is_placed else {value.text for slot in slots for value in slot.values}
    values = tuple(value for value in _load_values(table, words) if value.text not in known)
    return (Slot(IGNORED, True, values),) if values else ()


def _ignored_rules(slots: tuple[Slot, ...]) -> tuple[Rule, ...]:
    message = "ptxas drops a word that means nothing here"
    is_there = any(slot.name == IGNORED for slot in slots)
    return (Rule((Term(IGNORED),), (), None, message, lint=True),) if is_there else ()


def _head_length(head: str, syntax: str, where: str) -> int:
    """How many slots the compound opcode `head` spans; it must begin the syntax line."""
    if not head:
        return 0
    if not syntax.startswith(head):
        raise TableError(f"{where}: head '{head}' does not begin the syntax line")
    return len(parse_syntax(head).slots)


def _load_values(table: Table, text: str) -> tuple[Value, ...]:
    values = parse_values(text, table.sets)
    return tuple(
        Value(value.text, table.words.get(value.text, Needs())) if value.needs == Needs() else value
        for value in values
    )


def _load_rules(table: Table, row: Row, slots: tuple[Slot, ...]) -> tuple[Rule, ...]:
    """Return the row's own rules, and of the shared ones what can apply to this row."""
    known = _known(slots)
    rules: list[Rule | None] = []
    for text in row.rules():
        rule = parse_rule(text.text, table.sets, text.is_lint)
        rules.append(narrow_rule(rule, known) if text.is_shared else rule)
    return tuple(rule for rule in rules if rule is not None)


def _known(slots: tuple[Slot, ...]) -> dict[str, set[str]]:
    return {slot.name: {value.text for value in slot.values} for slot in slots}


def _together_rules(groups: tuple[tuple[str, ...], ...]) -> tuple[Rule, ...]:
    """``{.sem.scope}``: each needs the others."""
    return tuple(
        Rule((Term(one),), (Term(other),), None, f"'.{one}' and '.{other}' go together")
        for group in groups
        for one in group
        for other in group
        if one != other
    )


def narrow_term(term: Term, known: dict[str, set[str]]) -> Term | bool:
    """`term` with only the values that a row knows; true or false where that settles it."""
    values = tuple(v for v in term.values if v in known.get(term.slot, set()))
    if term.slot not in known or (term.values and not values):
        return term.negated
    return Term(term.slot, values, term.negated)


def narrow_rule(rule: Rule, known: dict[str, set[str]]) -> Rule | None:
    """`rule` with only the slots and values of one row; None where it always holds.

    A slot that the row lacks is never bound, a value that it lacks is never chosen.
    """
    when = [narrow_term(term, known) for term in rule.when]
    then = [narrow_term(term, known) for term in rule.then]
    if any(term is False for term in when) or any(term is True for term in then):
        return None
    return Rule(
        tuple(term for term in when if isinstance(term, Term)),
        tuple(term for term in then if isinstance(term, Term)),
        rule.needs,
        rule.message,
        rule.lint,
    )


def _load_examples(row: Row, opcode: str) -> tuple[Example, ...]:
    examples = [Example(text, "") for text in row.examples("accept")]
    for text in row.examples("reject"):
        match = re.fullmatch(r"(PTX\d{4}): (.+)", text)
        if not match:
            raise TableError(f"{row.where}: rejected example '{text}' does not start with its code")
        examples.append(Example(match[2], match[1]))
    for example in examples:
        head = re.match(r"(?:@!?%\w+ )?([a-z0-9]+)", example.text)
        if not head or head[1] != opcode:
            raise TableError(
                f"{row.where}: example '{example.text}' is not an instance of {opcode}"
            )
    return tuple(examples)


def _check_form(table: Table, form: Form) -> None:
    if form.sem and not re.fullmatch("[a-z][a-z0-9_]*", form.sem):
        raise TableError(f"{form.where}: sem '{form.sem}' cannot name a handler")
    if form.flow not in FLOWS:
        raise TableError(f"{form.where}: flow '{form.flow}' is not one of {', '.join(FLOWS)}")
    if form.stated_effect not in EFFECTS:
        raise TableError(f"{form.where}: effect '{form.stated_effect}' is not reads or acts")
    if form.stated_effect == "reads" and not (form.gives and form.names_memory):
        raise TableError(f"{form.where}: effect 'reads' is for what loads registers from memory")
    if len(form.slots) > MAXIMUM_SLOTS:
        raise TableError(f"{form.where}: more than {MAXIMUM_SLOTS} slots")
    slots = {slot.name: slot for slot in form.slots}
    for rule in form.rules:
        for term in rule.when + rule.then:
            _check_term(term, slots, form.where)
    for name in (name for group in form.ordered for name in group):
        if name not in slots:
            raise TableError(f"{form.where}: 'ordered' names slot '{name}', which the row lacks")
    leaves = [leaf for operand in form.operands for leaf in operand.leaves()]
    if len({leaf.use.name for leaf in leaves}) != len(leaves):
        raise TableError(f"{form.where}: an operand name stands twice")
    for operand in form.operands:
        _check_operand(operand, slots, form.where)


def _check_operand(operand: Operand, slots: dict[str, Slot], where: str) -> None:
    """Brackets hold an address first, and only brackets do; conditions name known slots."""
    first = operand.parts[0] if operand.parts else operand
    is_address = operand.use.shape == "address"
    for leaf in operand.leaves():
        may_be_address = is_address and leaf is first
        if "addr" in leaf.text.kinds and not may_be_address:
            raise TableError(f"{where}: operand '{leaf.use.name}': [] and addr go together")
        for step in leaf.text.count:
            if step.op == "slot" and step.slot not in slots:
                raise TableError(f"{where}: no slot '{step.slot}' for a count")


def _check_term(term: Term, slots: dict[str, Slot], where: str) -> None:
    if term.slot not in slots:
        raise TableError(f"{where}: a rule names slot '{term.slot}', which the row lacks")
    known = {value.text for value in slots[term.slot].values}
    for value in term.values:
        if value not in known:
            raise TableError(f"{where}: a rule names '{value}', which slot '{term.slot}' lacks")
