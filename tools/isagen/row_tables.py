# SPDX-License-Identifier: Apache-2.0
"""A row as it stands in isa/instructions: what the manual says, and its `ptxas` table.

A row shares both with its instruction: each overrides the instruction's of its own kind, slot by
slot and operand by operand. A row that the manual lacks (`beyond`) says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .notation import NotationError
from .syntax_line import OperandUse, Syntax, parse_syntax
from .table import TableError

_MANUAL_KEYS = {"manual", "sem", "needs", "slots", "operands", "rules", "head", "flow", "effect"}
_PTXAS_KEYS = {"slots", "operands", "rules", "lints", "optional", "ordered", "ignored"}
_ROW_KEYS = _MANUAL_KEYS | {"syntax", "accept", "reject", "ptxas"}
_BEYOND_KEYS = _ROW_KEYS | {"why"}
_ROW_PTXAS_KEYS = _PTXAS_KEYS | {"syntax"}
_INSTRUCTION_KEYS = _MANUAL_KEYS | {"form", "beyond", "ptxas"}


@dataclass(frozen=True)
class Description:
    """What the manual says of a slot or an operand, and what ptxas does otherwise."""

    manual: str = ""
    ptxas: str = ""


@dataclass(frozen=True)
class RuleText:
    """A rule as written. A lint: the manual asks for it, ptxas does not."""

    text: str
    is_lint: bool
    is_ptxas: bool
    is_shared: bool


class Row:
    """One row with what it shares; `syntax` is the manual's line, `taken` what ptxas takes."""

    def __init__(self, shared: dict[str, Any], own: dict[str, Any], file: str) -> None:
        self.where = f"{file}: '{own.get('syntax', '?')}'"
        self._tables = (own, shared)
        self._habits = (own.get("ptxas", {}), shared.get("ptxas", {}))
        for key in ("syntax", "accept", "reject"):
            if not own.get(key):
                raise TableError(f"{self.where}: a row needs '{key}'")
        for key in ("manual", "sem"):
            if not self.text(key):
                raise TableError(f"{self.where}: a row needs '{key}'")
        self.why = str(own.get("why", ""))
        try:
            self.slots = self._descriptions("slots")
            self.operands = self._descriptions("operands")
            self.syntax = parse_syntax(own["syntax"])
            self.line = self._line()
            self.taken = parse_syntax(self.line)
        except NotationError as error:
            raise TableError(f"{self.where}: {error}") from error
        self._check_names()

    def text(self, key: str, default: str = "") -> str:
        """Return what the row says under `key`, or the instruction."""
        own, shared = self._tables
        return str(own.get(key) or shared.get(key, default))

    def habit(self, key: str) -> str:
        """Return the same of the ptxas tables."""
        own, shared = self._habits
        return str(own.get(key, shared.get(key, "")))

    def examples(self, key: str) -> list[str]:
        """Return the examples under `accept` or `reject`."""
        return list(self._tables[0][key])

    def rules(self) -> Iterator[RuleText]:
        """Yield the instruction's rules first; of each table those that ptxas holds to first."""
        for at, is_shared in ((1, True), (0, False)):
            table, habits = self._tables[at], self._habits[at]
            for text in table.get("rules", ()):
                yield RuleText(text, False, False, is_shared)
            for key in ("rules", "lints"):
                for text in habits.get(key, ()):
                    yield RuleText(text, key == "lints", True, is_shared)

    def inherits(self, key: str, name: str, is_habit: bool) -> bool:
        """Return whether the row has a slot or operand and leaves its description to others."""
        names = slot_names if key == "slots" else operand_names
        own = self._habits[0] if is_habit else self._tables[0]
        return name in names(self.syntax) + names(self.taken) and name not in own.get(key, {})

    def _descriptions(self, key: str) -> dict[str, Description]:
        manual, ptxas = (
            {**shared.get(key, {}), **own.get(key, {})}
            for own, shared in (self._tables, self._habits)
        )
        return {
            name: Description(manual.get(name, ""), ptxas.get(name, ""))
            for name in {**manual, **ptxas}
        }

    def _line(self) -> str:
        """Return the line as ptxas takes it: its own, or the manual's with more in braces."""
        line = str(self._habits[0].get("syntax") or self._tables[0]["syntax"])
        for name in self.habit("optional").split():
            word = re.escape(name)
            slot = rf"(?<!\{{)\.{word}(?=[.\s]|\{{\.|$)"
            operand = rf"(?<!\{{), ?(\[{word}\]|{word})(?=,|\{{|$)"
            line, count = re.subn(f"{slot}|{operand}", lambda found: f"{{{found[0]}}}", line)
            if not count and "optional" in self._habits[0]:
                raise TableError(f"{self.where}: ptxas: no mandatory '{name}' to leave out")
        for name, text in self.operands.items():
            if "unified=" in text.ptxas and f"[{name}]{{.unified}}" not in line:
                line = line.replace(f"[{name}]", f"[{name}]{{.unified}}")
        return line

    def _check_names(self) -> None:
        """Refuse a description of what is not in the line."""
        for table, line in ((self._tables[0], self.syntax), (self._habits[0], self.taken)):
            for key, names in (("slots", slot_names(line)), ("operands", operand_names(line))):
                for name in table.get(key, {}):
                    if name not in names:
                        what = key.removesuffix("s")
                        raise TableError(f"{self.where}: {what} '{name}' is not in the syntax line")


def read_rows(shared: dict[str, Any], file: str) -> list[Row]:
    """Return the rows of an instruction: the manual's, then those that the manual lacks."""
    _check_keys(shared, _INSTRUCTION_KEYS, file)
    _check_keys(shared.get("ptxas", {}), _PTXAS_KEYS, f"{file}: ptxas")
    rows = []
    for key, known in (("form", _ROW_KEYS), ("beyond", _BEYOND_KEYS)):
        for own in shared.get(key, ()):
            where = f"{file}: '{own.get('syntax', '?')}'"
            _check_keys(own, known, where)
            _check_keys(own.get("ptxas", {}), _ROW_PTXAS_KEYS, f"{where}: ptxas")
            if key == "beyond" and not own.get("why"):
                raise TableError(f"{where}: a row that the manual lacks needs 'why'")
            rows.append(Row(shared, own, file))
    _check_shared(shared, rows, file)
    return rows


def _check_shared(shared: dict[str, Any], rows: list[Row], file: str) -> None:
    """Refuse what an instruction describes and no row takes from it."""
    for is_habit, table in ((False, shared), (True, shared.get("ptxas", {}))):
        for key in ("slots", "operands"):
            for name in table.get(key, {}):
                if not any(row.inherits(key, name, is_habit) for row in rows):
                    what = key.removesuffix("s")
                    raise TableError(f"{file}: no row takes {what} '{name}' from its instruction")


def slot_names(line: Syntax) -> list[str]:
    """Return the slots of a syntax line, in order."""
    return [slot.name for slot in line.slots]


def operand_names(line: Syntax) -> list[str]:
    """Return the operands of a syntax line and their parts, in order."""
    return [name for use in line.operands for name in _leaves(use)]


def _leaves(use: OperandUse) -> list[str]:
    return [name for part in use.parts for name in _leaves(part)] or [use.name]


def _check_keys(data: dict[str, Any], known: set[str], where: str) -> None:
    for key in sorted(set(data) - known):
        elsewhere = ""
        if key in _ROW_PTXAS_KEYS - _ROW_KEYS:
            elsewhere = ": it is for the ptxas table"
        elif key in _ROW_KEYS and where.endswith(": ptxas"):
            elsewhere = ": it is for the manual's part"
        raise TableError(f"{where}: unknown key '{key}'{elsewhere}")
