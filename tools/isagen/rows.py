# SPDX-License-Identifier: Apache-2.0
"""Loads the rows of isa/instructions; refuses one that says too little or too much."""

from __future__ import annotations

import re
from typing import Any

from .notation import Needs, NotationError, Rule, Term, Value, parse_needs, parse_rule, parse_values
from .operand_text import WidthText, parse_operand
from .syntax_line import OperandUse, parse_syntax
from .table import IGNORED, Example, Form, Operand, Slot, Table, TableError

FLOWS = ("next", "jump", "end", "call")  # where execution goes on
MAXIMUM_SLOTS = 64  # the bits of a SlotSet (src/isa/form_index.h)
_SHARED_KEYS = {
    "manual",
    "sem",
    "needs",
    "slots",
    "operands",
    "rules",
    "head",
    "ordered",
    "beyond",
    "flow",
    "ignored",
}
_INSTRUCTION_KEYS = _SHARED_KEYS | {"form"}
_FORM_KEYS = _SHARED_KEYS | {"syntax", "accept", "reject"}


def load_instructions(table: Table, data: dict[str, Any], file: str) -> None:
    """Add the rows of one file of isa/instructions."""
    unknown = set(data) - {"instruction"}
    if unknown:
        raise TableError(f"{file}: unknown key '{sorted(unknown)[0]}'")
    for shared in data.get("instruction", []):
        _check_keys(shared, _INSTRUCTION_KEYS, file)
        for row in shared.get("form", []):
            where = f"{file}: '{row.get('syntax', '?')}'"
            _check_keys(row, _FORM_KEYS, where)
            try:
                table.forms.append(_load_form(table, shared, row, where))
            except NotationError as error:
                raise TableError(f"{where}: {error}") from error


def _check_keys(data: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        raise TableError(f"{where}: unknown key '{unknown[0]}'")


def _load_form(table: Table, shared: dict[str, Any], row: dict[str, Any], where: str) -> Form:
    for key in ("syntax", "accept", "reject"):
        if not row.get(key):
            raise TableError(f"{where}: a row needs '{key}'")
    for key in ("manual", "sem"):
        if not (row.get(key) or shared.get(key)):
            raise TableError(f"{where}: a row needs '{key}'")
    syntax = parse_syntax(row["syntax"])
    value_texts = {**shared.get("slots", {}), **row.get("slots", {})}
    descriptions = {**shared.get("operands", {}), **row.get("operands", {})}
    slots = tuple(
        Slot(use.name, use.optional, _load_values(table, value_texts.get(use.name, use.default)))
        for use in syntax.slots
    )
    ordered = tuple(
        tuple(group.split())
        for group in (row.get("ordered") or shared.get("ordered", "")).split(",")
    )
    slots += _ignored_slot(table, row.get("ignored") or shared.get("ignored", ""), slots, ordered)
    unused = sorted(set(row.get("slots", {})) - {slot.name for slot in slots})
    if unused:
        raise TableError(f"{where}: slot '{unused[0]}' is not in the syntax line")
    sem, reason = _split_sem(row.get("sem") or shared["sem"], where)
    form = Form(
        opcode=syntax.opcode,
        syntax=row["syntax"],
        manual=row.get("manual") or shared["manual"],
        sem=sem,
        reason=reason,
        beyond=row.get("beyond") or shared.get("beyond", ""),
        flow=row.get("flow") or shared.get("flow", "next"),
        needs=parse_needs(row.get("needs") or shared.get("needs", "")),
        slots=slots,
        operands=tuple(_load_operand(use, descriptions, slots, where) for use in syntax.operands),
        rules=_load_rules(table, shared, row, slots)
        + _together_rules(syntax.together)
        + _ignored_rules(slots),
        examples=_load_examples(row, syntax.opcode, where),
        where=where,
        head=_head_length(row.get("head") or shared.get("head", ""), row["syntax"], where),
        ordered=ordered,
    )
    _check_form(table, form)
    return form


def _split_sem(text: str, where: str) -> tuple[str, str]:
    """``add`` -> ("add", ""); ``none: why`` -> ("", "why")."""
    head, _, reason = text.partition(":")
    if head != "none":
        return text, ""
    if not reason.strip():
        raise TableError(f"{where}: sem '{text}' gives no reason ('none: why')")
    return "", reason.strip()


def _load_operand(
    use: OperandUse, descriptions: dict[str, str], slots: tuple[Slot, ...], where: str
) -> Operand:
    """Describe an operand and its parts; a bracket around one address has no parts."""
    parts = tuple(_load_operand(part, descriptions, slots, where) for part in use.parts)
    if parts:
        is_plain = use.shape == "address" and len(parts) == 1 and "addr" in parts[0].text.kinds
        return Operand(use, parts[0].text, () if is_plain else parts)
    if use.name not in descriptions:
        raise TableError(f"{where}: operand '{use.name}' is not described")
    text = parse_operand(descriptions[use.name])
    condition = _narrow_condition(text.condition, slots)
    if condition is None:
        raise TableError(f"{where}: operand '{use.name}' is never there")
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


def _load_rules(
    table: Table, shared: dict[str, Any], row: dict[str, Any], slots: tuple[Slot, ...]
) -> tuple[Rule, ...]:
    """Return the row's own rules, and of the shared ones what can apply to this row."""
    known = _known(slots)
    rules = [narrow_rule(parse_rule(text, table.sets), known) for text in shared.get("rules", [])]
    kept = tuple(rule for rule in rules if rule is not None)
    return kept + tuple(parse_rule(text, table.sets) for text in row.get("rules", []))


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


def _load_examples(row: dict[str, Any], opcode: str, where: str) -> tuple[Example, ...]:
    examples = [Example(text, "") for text in row["accept"]]
    for text in row["reject"]:
        match = re.fullmatch(r"(PTX\d{4}): (.+)", text)
        if not match:
            raise TableError(f"{where}: rejected example '{text}' does not start with its code")
        examples.append(Example(match[2], match[1]))
    for example in examples:
        head = re.match(r"(?:@!?%\w+ )?([a-z0-9]+)", example.text)
        if not head or head[1] != opcode:
            raise TableError(f"{where}: example '{example.text}' is not an instance of {opcode}")
    return tuple(examples)


def _check_form(table: Table, form: Form) -> None:
    if form.sem and form.sem not in table.sems:
        raise TableError(f"{form.where}: sem '{form.sem}' is not in common/sems.toml")
    if form.flow not in FLOWS:
        raise TableError(f"{form.where}: flow '{form.flow}' is not one of {', '.join(FLOWS)}")
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
