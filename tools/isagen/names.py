# SPDX-License-Identifier: Apache-2.0
"""C++ names for PTX words, by one rule, and the numbering of every enumeration."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .table import Table, TableError


def enumerator(text: str) -> str:
    """``shared::cta`` -> SharedCta, ``acq_rel`` -> AcqRel, ``1d`` -> _1d, ``sp::2:4`` -> Sp2_4."""
    words = [word for word in re.split(r"::|_", text) if word]
    name = "".join(word[0].upper() + word[1:] for word in words).replace(":", "_")
    return f"_{name}" if name[0].isdigit() else name


@dataclass
class Enumeration:
    """Texts in the order of their numbers; number 0 is None."""

    name: str
    texts: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """Return the number of `text`, given on first sight."""
        if text not in self._numbers:
            cpp = self.cpp(text)
            if self._names.setdefault(cpp, text) != text or cpp == "None":
                raise TableError(f"{self.name}: '{text}' and '{self._names[cpp]}' are both {cpp}")
            self.texts.append(text)
            self._numbers[text] = len(self.texts)
        return self._numbers[text]

    def cpp(self, text: str) -> str:
        """Return the enumerator of `text`."""
        return text if self.name == "Sem" else enumerator(text)

    def qualified(self, text: str) -> str:
        """``Modifier::SharedCta``; ``Modifier::None`` for the empty text."""
        return f"{self.name}::{self.cpp(text) if text else 'None'}"


@dataclass
class Names:
    """Every generated enumeration."""

    opcodes: Enumeration
    modifiers: Enumeration
    types: Enumeration
    slots: Enumeration
    sems: Enumeration
    specials: Enumeration

    def all(self) -> list[Enumeration]:
        """In the order they are printed."""
        return [self.types, self.opcodes, self.modifiers, self.slots, self.sems, self.specials]


def number(table: Table) -> Names:
    """Numbers every name of the table, in an order that depends on the table alone."""
    names = Names(
        *(Enumeration(n) for n in ("Opcode", "Modifier", "Type", "Slot", "Sem", "SpecialRegister"))
    )
    for entry in table.types:
        names.types.add(entry.name)
        names.modifiers.add(entry.name)
    for sem in table.sems:
        names.sems.add(sem)
    for special in table.specials:
        names.specials.add(special.name)
    for form in table.forms:
        names.opcodes.add(form.opcode)
        for slot in form.slots:
            names.slots.add(slot.name)
            for value in slot.values:
                names.modifiers.add(value.text)
    return names
