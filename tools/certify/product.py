# SPDX-License-Identifier: Apache-2.0
"""The full product over the words of a family, legal or not, with operands fitted to each spelling.

Each form is spelled with every combination of the words that any form of its family takes in a slot
of that name; rules and availability are set aside. Words of other slots are mixed in at random.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

from isagen.table import Form, Table

from .fit import Fitter, slots_named_by
from .instance import Instance, family_of
from .legal import Bound


class Product:
    """The product over the slots of one form, with the words of its family."""

    def __init__(self, table: Table, form: Form, family: list[Form], texmode: str = "") -> None:
        self.form = form
        self.fitter = Fitter(table, form, texmode)
        self.deciding = slots_named_by(form)
        words: dict[str, dict[str, None]] = {}
        for member in family:
            for slot in member.slots:
                words.setdefault(slot.name, {}).update(dict.fromkeys(v.text for v in slot.values))
        self.words = sorted({word for group in words.values() for word in group})
        self.options = [
            [*([""] if slot.optional else []), *words[slot.name]]
            if index >= form.head
            else [value.text for value in slot.values]
            for index, slot in enumerate(form.slots)
        ]
        self.fits: dict[tuple[tuple[str, str], ...], tuple[str, ...]] = {}

    @property
    def size(self) -> int:
        """The number of spellings."""
        return math.prod(len(words) for words in self.options)

    def instances(self, cap: int, mixed: int) -> Iterator[Instance]:
        """All spellings, or `cap / 10` random ones if there are more; `mixed` get a word more."""
        source = random.Random(f"product {self.form.where}")
        if self.size <= cap:
            for words in itertools.product(*self.options):
                yield self.fitted(words)
        else:
            for _ in range(cap // 10):
                yield self.fitted(tuple(source.choice(words) for words in self.options))
        for _ in range(min(mixed, self.size * len(self.words))):
            plain = self.fitted(tuple(source.choice(words) for words in self.options))
            modifiers = list(plain.modifiers)
            place = source.randrange(min(self.form.head, len(modifiers)), len(modifiers) + 1)
            modifiers.insert(place, source.choice(self.words))
            yield Instance(plain.opcode, tuple(modifiers), plain.operands)

    def fitted(self, words: tuple[str, ...]) -> Instance:
        """Return a spelling with its operands."""
        bound: Bound = {
            slot.name: word for slot, word in zip(self.form.slots, words, strict=True) if word
        }
        key = tuple((name, word) for name, word in bound.items() if name in self.deciding)
        if key not in self.fits:
            self.fits[key] = tuple(self.fitter.plain(bound))
        return Instance(self.form.opcode, tuple(filter(None, words)), self.fits[key])


def families(forms: list[Form]) -> dict[str, list[Form]]:
    """Forms by compound opcode."""
    found: dict[str, list[Form]] = {}
    for form in forms:
        found.setdefault(family_of(form), []).append(form)
    return found
