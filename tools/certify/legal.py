# SPDX-License-Identifier: Apache-2.0
"""Which spellings of a form the table allows on a machine: its rules and availability, in Python.

Written apart from the generated C++ on purpose: an enumeration that both shared would agree with
itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from isagen.notation import Needs, Rule, TargetRule
from isagen.resolve import holds
from isagen.table import Form, Slot, Table

from .batch import Machine

Bound = dict[str, str]


class Availability:
    """Says whether a machine has what a `Needs` asks for."""

    def __init__(self, table: Table, machine: Machine) -> None:
        self.version = machine.number
        match = re.fullmatch(r"sm_(\d+)([af]?)", machine.target)
        if not match:
            raise ValueError(f"'{machine.target}' is not a target such as sm_90a")
        self.sm, self.suffix = int(match[1]), match[2]
        self.families = {entry.sm: entry.family for entry in table.targets}
        self.known: dict[Needs, bool] = {}

    def has(self, needs: Needs) -> bool:
        """Say whether `needs` is met."""
        if needs not in self.known:
            is_named = not needs.targets or any(self._is(rule) for rule in needs.targets)
            self.known[needs] = is_named and needs.version <= self.version <= needs.last
        return self.known[needs]

    def _is(self, rule: TargetRule) -> bool:
        if not rule.suffix:
            return rule.sm <= self.sm <= (rule.last or self.sm)
        if rule.suffix == "a":
            return (self.sm, self.suffix) == (rule.sm, "a")
        family = self.families.get(rule.sm)
        is_member = bool(family) and self.families.get(self.sm) == family
        return is_member and self.sm >= rule.sm and bool(self.suffix)


def keeps(rule: Rule, bound: Bound, has: Callable[[Needs], bool]) -> bool:
    """Say whether a spelling keeps a rule; what is by the manual only never refuses."""
    if rule.lint or not all(holds(term, bound) for term in rule.when):
        return True
    if rule.needs is not None:
        return has(rule.needs)
    return any(holds(term, bound) for term in rule.then)


def words_of(slot: Slot, has: Callable[[Needs], bool]) -> list[str]:
    """Return the available words of a slot, "" first when it may be left out."""
    words = [value.text for value in slot.values if has(value.needs)]
    return ["", *words] if slot.optional else words


def spellings(form: Form, has: Callable[[Needs], bool]) -> Iterator[Bound]:
    """Every slot assignment that keeps the rules; a rule is tried as soon as it is decided."""
    if not has(form.needs):
        return
    position = {slot.name: index for index, slot in enumerate(form.slots)}
    due: list[list[Rule]] = [[] for _ in range(len(form.slots) + 1)]
    for rule in form.rules:
        last = max((position[term.slot] for term in rule.when + rule.then), default=-1)
        due[last + 1].append(rule)
    options = [words_of(slot, has) for slot in form.slots]
    bound: Bound = {}

    def walk(depth: int) -> Iterator[Bound]:
        if not all(keeps(rule, bound, has) for rule in due[depth]):
            return
        if depth == len(options):
            yield dict(bound)
            return
        name = form.slots[depth].name
        for word in options[depth]:
            if word:
                bound[name] = word
            yield from walk(depth + 1)
            bound.pop(name, None)

    yield from walk(0)


def always(_: Needs) -> bool:
    """Availability set aside."""
    return True
