# SPDX-License-Identifier: Apache-2.0
"""The flat arrays that tables.cpp is printed from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from .names import Names
from .notation import Needs, Term
from .table import Form


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
    examples: Pool = field(default_factory=Pool)
    properties: Pool = field(default_factory=Pool)
    steps: Pool = field(default_factory=Pool)
    widths: Pool = field(default_factory=Pool)
    forms: list[str] = field(default_factory=list)
    form_rows: list[str] = field(default_factory=list)
    opcode_forms: dict[str, tuple[int, int]] = field(default_factory=dict)
    _needs_index: dict[Needs, int] = field(default_factory=dict)

    def needs_index(self, needs: Needs) -> int:
        """Return the number of an availability; 0 for none."""
        if needs not in self._needs_index:
            rules = [f"{{{r.sm}, {_char(r.suffix)}, {r.last}}}" for r in needs.targets]
            self._needs_index[needs] = len(self.needs.rows)
            first, last = (f"{{{major}, {minor}}}" for major, minor in (needs.version, needs.last))
            self.needs.rows.append(f"{{{first}, {last}, {self.target_rules.run(rules)}}}")
        return self._needs_index[needs]

    def term_run(self, names: Names, form: Form, terms: tuple[Term, ...]) -> str:
        """Store `terms` and return their Range."""
        rows = []
        for term in terms:
            values = self.term_values.run([names.modifiers.qualified(v) for v in term.values])
            negated = "true" if term.negated else "false"
            rows.append(f"{{{form.slot_number(term.slot)}, {negated}, {values}}}")
        return self.terms.run(rows)


def _char(suffix: str) -> str:
    return f"'{suffix}'" if suffix else "0"


def quote(text: str) -> str:
    """Return a C++ string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
