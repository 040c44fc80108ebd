# SPDX-License-Identifier: Apache-2.0
"""Loads isa/ into a Table: the common files here, the instructions by rows.py."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .directives import load_directives
from .notation import Needs, expand_run, parse_needs
from .rows import load_instructions
from .table import SpecialEntry, Table, TableError
from .targets import load_targets
from .types import load_types


def load(root: Path) -> Table:
    """Read the table under `root` (the isa folder)."""
    table = Table()
    common = root / "common"
    load_types(table, _read(common / "types.toml"))
    load_targets(table, _read(common / "targets.toml"))
    _load_specials(table, _read(common / "special_registers.toml"))
    load_directives(table, _read(common / "directives.toml"))
    modifiers = _read(common / "modifiers.toml")
    table.sets = modifiers["sets"]
    table.repeatable = modifiers["repeatable"].split()
    table.words = {word: parse_needs(needs) for word, needs in modifiers["words"].items()}
    for path in sorted((root / "instructions").glob("*.toml")):
        load_instructions(table, _read(path), path.name)
    return table


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{path.name}: {error}") from error


def _load_specials(table: Table, data: dict[str, Any]) -> None:
    for row in data["register"]:
        own = table.type_named(row["type"])
        if own is None:
            raise TableError(f"special_registers.toml: '{row['type']}' is no type")
        sizes = tuple(int(size) for size in row.get("sizes", str(own.bits)).split())
        emulated = row.get("emulated", "")
        if emulated not in ("", "warp", "lane", "clock"):
            raise TableError(f"special_registers.toml: '{emulated}' is not warp, lane or clock")
        for word in row["names"].split():
            run, _, needs = word.partition("@")
            available = parse_needs(needs) if needs else Needs()
            table.specials += [
                SpecialEntry(name, own.name, row.get("vector", False), sizes, available, emulated)
                for name in expand_run(run)
            ]
