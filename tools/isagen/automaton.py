# SPDX-License-Identifier: Apache-2.0
"""The legal spellings of an opcode as a minimal automaton over modifier words.

A state is what may still follow: words that lead to other states, and, where a spelling may end,
what its operands are. It is reached by deriving the forms word by word: a form in mid-chain is its
next slot and what its rules and operands still ask of the words to come, so nothing is enumerated.
Words come in the order of the syntax line; availability is set aside, since the target decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from .notation import Rule
from .resolve import holds, step_value
from .table import Form, Operand, Table, TableError

End = TypeVar("End", bound=Hashable)
Bound = Mapping[str, str]


@dataclass(frozen=True)
class State(Generic[End]):
    """What may follow: words with the number of their state, and ends of spellings."""

    number: int
    words: tuple[tuple[str, int], ...]
    ends: tuple[End, ...]


@dataclass(frozen=True)
class _Place:
    """A form in mid-chain: slots before `depth` are decided, the rest is what matters of them."""

    form: int
    depth: int
    rules: tuple[Rule, ...]
    kept: tuple[tuple[str, str], ...]


def _decided(rule: Rule, slot: str, bound: Bound) -> Rule | None:
    """Return what a rule still asks once `slot` is decided; None: nothing."""
    if any(term.slot == slot and not holds(term, bound) for term in rule.when):
        return None
    if any(term.slot == slot and holds(term, bound) for term in rule.then):
        return None
    when = tuple(term for term in rule.when if term.slot != slot)
    then = tuple(term for term in rule.then if term.slot != slot)
    return Rule(when, then, None, "")


class _Words:
    """For each slot of a form, which words the operands cannot tell apart."""

    def __init__(self, table: Table, form: Form) -> None:
        self.table = table
        leaves = [leaf for operand in form.operands for leaf in (operand, *operand.leaves())]
        self.terms = [term for leaf in leaves for term in leaf.text.condition]
        self.steps = [step for leaf in leaves if _is_mixed(leaf) for step in leaf.text.count]
        self.like: dict[tuple[str, str], str] = {}
        for slot in form.slots:
            first: dict[Hashable, str] = {}
            for word in ["", *(value.text for value in slot.values)]:
                key = self._key(slot.name, word)
                self.like[slot.name, word] = first.setdefault(key, word)

    def _key(self, slot: str, word: str) -> Hashable:
        terms = tuple(holds(term, {slot: word}) for term in self.terms if term.slot == slot)
        counts = []
        for step in self.steps:
            if step.slot == slot:
                try:
                    counts.append(step_value(self.table, step, word) if word else 0)
                except TableError:
                    counts.append(-1)
        return terms, tuple(counts)


def _is_mixed(leaf: Operand) -> bool:
    """Whether the words decide if the operand is a vector."""
    return bool(leaf.text.count) and "vec" in leaf.text.kinds and len(leaf.text.kinds) > 1


class Automaton(Generic[End]):
    """The states of one opcode; `start` is the number of the first, of the bare opcode."""

    def __init__(
        self, table: Table, forms: list[Form], end: Callable[[Form, Bound], tuple[End, ...]]
    ) -> None:
        self.forms = forms
        self._end = end
        self._words = [_Words(table, form) for form in forms]
        self._numbers: dict[frozenset[_Place], int | None] = {}
        self._same: dict[Hashable, int] = {}
        self.states: list[State[End]] = []
        start = self._number(
            frozenset(
                _Place(index, 0, tuple(r for r in form.rules if not (r.lint or r.needs)), ())
                for index, form in enumerate(forms)
            )
        )
        if start is None:
            raise TableError(f"'{forms[0].opcode}' has no legal spelling")
        self.start = start

    def _number(self, places: frozenset[_Place]) -> int | None:
        """Return the state of `places`; None where no spelling can end any more."""
        if places in self._numbers:
            return self._numbers[places]
        following: dict[str, set[_Place]] = {}
        ends: dict[End, None] = {}
        for place in sorted(places, key=lambda p: (p.form, p.depth)):
            self._follow(place, following, ends)
        words = []
        for word, group in following.items():
            number = self._number(frozenset(group))
            if number is not None:
                words.append((word, number))
        found: int | None = None
        if words or ends:
            key = (frozenset(words), frozenset(ends))
            if key not in self._same:
                self._same[key] = len(self.states)
                self.states.append(State(len(self.states), tuple(words), tuple(ends)))
            found = self._same[key]
        self._numbers[places] = found
        return found

    def _follow(
        self, place: _Place, following: dict[str, set[_Place]], ends: dict[End, None]
    ) -> None:
        """Add the words that may follow `place`, and its ends when none need to."""
        form = self.forms[place.form]
        for slot in form.slots[place.depth :]:
            for value in slot.values:
                after = self._after(place, slot.name, value.text)
                if after is not None:
                    following.setdefault(value.text, set()).add(after)
            if not slot.optional:
                return
            skipped = self._after(place, slot.name, "")
            if skipped is None:
                return
            place = skipped
        ends.update(dict.fromkeys(self._end(form, dict(place.kept))))

    def _after(self, place: _Place, slot: str, word: str) -> _Place | None:
        """Return `place` with `word` in `slot`, or None where a rule forbids it."""
        bound = {slot: word}
        rules = []
        for rule in place.rules:
            if not any(term.slot == slot for term in (*rule.when, *rule.then)):
                rules.append(rule)
                continue
            left = _decided(rule, slot, bound)
            if left is None:
                continue
            if not left.when and not left.then:
                return None
            rules.append(left)
        like = self._words[place.form].like[slot, word]
        kept = (*place.kept, (slot, like)) if like else place.kept
        unique = tuple(dict.fromkeys(rules))
        return _Place(place.form, place.depth + 1, unique, kept)
