# SPDX-License-Identifier: Apache-2.0
"""Holds the two parts of a row to each other.

The manual's part says nothing of what only ptxas takes; what ptxas takes beyond it has the words of
a lint.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .notation import Rule, Term, parse_rule, parse_values
from .resolve import holds
from .row_tables import Description, Row, RuleText, operand_names, slot_names
from .table import Table, TableError

Parsed = list[tuple[RuleText, Rule]]


def check_habits(table: Table, row: Row) -> None:
    """Refuse a row of the manual whose two parts do not go together."""
    if row.why:
        return
    _check_line(row)
    slots, values = _own_words(table, row)
    rules = [(text, parse_rule(text.text, table.sets, text.is_lint)) for text in row.rules()]
    for word in _words_without_lint(slots, values, rules):
        raise TableError(f"{row.where}: ptxas: no lint says what is wrong with '.{word}'")
    for word in _words_in_manual(slots, values, rules):
        raise TableError(f"{row.where}: a rule names '{word}', which only ptxas takes")
    for text, rule in rules:
        if not (text.is_ptxas or text.is_shared or can_break(table, row, rule)):
            raise TableError(f"{row.where}: only what ptxas takes could break '{text.text}'")


def check_shared_rules(table: Table, rows: list[Row]) -> None:
    """Refuse a rule of an instruction that no spelling of the manual's breaks in any row."""
    manual = [row for row in rows if not row.why]
    texts = {
        text.text for row in manual for text in row.rules() if text.is_shared and not text.is_ptxas
    }
    for text in sorted(texts):
        rule = parse_rule(text, table.sets)
        if not any(can_break(table, row, rule) for row in manual):
            raise TableError(f"{manual[0].where}: only what ptxas takes could break '{text}'")


def can_break(table: Table, row: Row, rule: Rule) -> bool:
    """Whether some spelling of the manual's line breaks a rule, or the rule gives availability."""
    slots = {slot.name: slot for slot in row.syntax.slots}
    words = []
    for name in dict.fromkeys(term.slot for term in rule.when + rule.then if term.slot in slots):
        text = row.slots.get(name, Description()).manual or slots[name].default
        values = [value.text for value in parse_values(text, table.sets)]
        words.append([(name, value) for value in [""] * slots[name].optional + values])
    for bound in map(dict, itertools.product(*words)):
        is_asked = all(holds(term, bound) for term in rule.when)
        if is_asked and (rule.needs or not any(holds(term, bound) for term in rule.then)):
            return True
    return False


def _words_without_lint(
    slots: list[str], values: dict[str, list[str]], rules: Parsed
) -> Iterator[str]:
    """Yield what ptxas takes beyond the manual and nothing says so."""
    lints = [rule for text, rule in rules if text.is_lint]
    linted = {term.slot for rule in lints for term in rule.when + rule.then}
    for _, rule in rules:  # .popc asks for a bit operation, which has a lint
        if len(rule.when) == len(rule.then) == 1 and rule.then[0] in map(Term, linted & {*slots}):
            linted.add(rule.when[0].slot)
    yield from (slot for slot in slots if slot not in linted)
    for slot, own in values.items():
        yield from (v for v in own if not any(_names(rule, slot, v) for rule in lints))


def _words_in_manual(
    slots: list[str], values: dict[str, list[str]], rules: Parsed
) -> Iterator[str]:
    """Yield what only ptxas takes and a rule of the manual's names."""
    for text, rule in rules:
        if text.is_ptxas or text.is_shared:
            continue
        for term in rule.when + rule.then:
            if term.slot in slots:
                yield term.slot
            yield from (value for value in term.values if value in values.get(term.slot, ()))


def _names(rule: Rule, slot: str, value: str) -> bool:
    """Whether a rule is about `value`: it asks for it on the left, or for another on the right."""
    bound = {slot: value}
    return any(
        term.slot == slot and term.values and holds(term, bound) for term in rule.when
    ) or any(term.slot == slot and not holds(term, bound) for term in rule.then)


def _check_line(row: Row) -> None:
    """Refuse a line of ptxas's that is not the manual's with more in it."""
    for manual, taken in (
        (slot_names(row.syntax), slot_names(row.taken)),
        (operand_names(row.syntax), operand_names(row.taken)),
    ):
        if [name for name in taken if name in manual] != manual:
            raise TableError(f"{row.where}: ptxas: its line is not the manual's with more in it")
    for use in row.syntax.operands:
        text = row.operands.get(use.name, Description()).manual
        if use.unified != ("unified=" in text):
            raise TableError(f"{row.where}: '[{use.name}]{{.unified}}' and 'unified=' go together")
    is_optional = {slot.name: slot.optional for slot in row.taken.slots}
    for slot in row.syntax.slots:
        if slot.optional and not is_optional[slot.name]:
            raise TableError(f"{row.where}: ptxas: the manual lets '.{slot.name}' be left out")


def _own_words(table: Table, row: Row) -> tuple[list[str], dict[str, list[str]]]:
    """Return the slots that the manual lacks, and of its own the values that only ptxas takes."""
    manual = slot_names(row.syntax)
    values: dict[str, list[str]] = {}
    for name in manual:
        text = row.slots.get(name, Description())
        if text.ptxas and not text.manual:
            raise TableError(f"{row.where}: ptxas adds to '.{name}': list the manual's values")
        values[name] = [value.text for value in parse_values(text.ptxas, table.sets)]
    return [name for name in slot_names(row.taken) if name not in manual], values
