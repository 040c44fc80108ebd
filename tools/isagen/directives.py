# SPDX-License-Identifier: Apache-2.0
"""Directives, pragmas and target options: isa/common/directives.toml and its C++ rows."""

from __future__ import annotations

import re
from typing import Any

from .notation import NotationError, parse_needs
from .pools import Layout, quote
from .table import DirectiveEntry, PragmaEntry, Table, TableError, TargetOptionEntry

PLACES = (
    "module", "entry", "func", "prototype", "body", "linking", "variable", "parameter", "attribute",
)  # fmt: skip


def load_directives(table: Table, data: dict[str, Any]) -> None:
    """Read the rows; one that says too little or too much is refused."""
    try:
        for row in data.get("directive", []):
            _check(row, {"name", "in", "arguments", "needs", "manual"}, {"name", "in", "manual"})
            kind, minimum, maximum = _arguments(row.get("arguments", "none"))
            places, needs = _places(row["in"]), parse_needs(row.get("needs", ""))
            for name in row["name"].split():
                entry = DirectiveEntry(name, row["manual"], places, kind, minimum, maximum, needs)
                table.directives.append(entry)
        for row in data.get("pragma", []):
            _check(row, {"name", "in", "value", "checked", "needs", "manual"}, {"name", "in"})
            entry_needs = parse_needs(row.get("needs", ""))
            flags = (row.get("value", False), row.get("checked", False))
            table.pragmas.append(
                PragmaEntry(row["name"], row["manual"], _places(row["in"]), *flags, entry_needs)
            )
        for name, facts in data.get("target_option", {}).items():
            needs = parse_needs(facts.get("needs", ""))
            table.target_options.append(TargetOptionEntry(name, facts.get("group", ""), needs))
    except NotationError as error:
        raise TableError(f"directives.toml: {error}") from error


def _check(row: dict[str, Any], known: set[str], needed: set[str]) -> None:
    where = f"directives.toml: '{row.get('name', '?')}'"
    unknown = sorted(set(row) - known)
    if unknown:
        raise TableError(f"{where}: unknown key '{unknown[0]}'")
    missing = sorted(needed - set(row))
    if missing:
        raise TableError(f"{where}: a row needs '{missing[0]}'")


def _places(text: str) -> tuple[str, ...]:
    for word in text.split():
        if word not in PLACES:
            raise TableError(f"directives.toml: '{word}' is not one of {', '.join(PLACES)}")
    return tuple(text.split())


def _arguments(text: str) -> tuple[str, int, int]:
    """``none``, ``own``, ``integers 1..3``, ``strings 1..255``."""
    match = re.fullmatch(r"(none|own)|(integers|strings) (\d+)\.\.(\d+)", text)
    if not match:
        raise TableError(f"directives.toml: '{text}' is not a shape of arguments")
    return match[1] or match[2], int(match[3] or 0), int(match[4] or 0)


def _place_bits(places: tuple[str, ...]) -> str:
    return " | ".join(f"DirectivePlace::{place.capitalize()}" for place in places)


def directive_rows(table: Table, layout: Layout) -> list[str]:
    """Return the DirectiveRow initialisers."""
    return [
        f"{{{quote(row.name)}, {quote(row.manual)}, {_place_bits(row.places)}, "
        f"DirectiveArguments::{row.arguments.capitalize()}, {row.minimum}, {row.maximum}, "
        f"{layout.needs_index(row.needs)}}}"
        for row in table.directives
    ]


def pragma_rows(table: Table, layout: Layout) -> list[str]:
    """Return the PragmaRow initialisers."""
    return [
        f"{{{quote(row.name)}, {quote(row.manual)}, {_place_bits(row.places)}, "
        f"{str(row.takes_value).lower()}, {str(row.is_checked).lower()}, "
        f"{layout.needs_index(row.needs)}}}"
        for row in table.pragmas
    ]


def target_option_rows(table: Table, layout: Layout) -> list[str]:
    """Return the TargetOptionRow initialisers."""
    return [
        f"{{{quote(row.name)}, {quote(row.group)}, {layout.needs_index(row.needs)}}}"
        for row in table.target_options
    ]
