# SPDX-License-Identifier: Apache-2.0
"""targets.toml: versions, targets and what each of them can have at most, read and printed."""

from __future__ import annotations

from typing import Any

from .notation import parse_needs
from .table import Limit, Table, TableError, TargetEntry

# The members of isa::Limits, in order, and the factor from the table's unit to theirs.
_KIB = 1024
_UNITS = {
    "grid": 1, "block": 1, "threads": 1, "cluster": 1,
    "warps": 1, "ctas": 1, "barriers": 1, "registers": 1, "partitions": 1, "shared": _KIB,
    "cta_barriers": 1, "cta_shared": _KIB, "static_shared": _KIB,
    "shared_reserved": _KIB, "shared_unit": 1,
    "thread_registers": 1, "register_unit": 1, "local": _KIB,
    "constant": _KIB, "parameters": 1, "old_parameters": 1,
}  # fmt: skip
_SUFFIXES = {"plain": "", "a": "a", "f": "f"}


def load_targets(table: Table, data: dict[str, Any]) -> None:
    """Read versions and targets."""
    table.versions = [parse_needs(v).version for v in data["versions"].split()]
    for number, row in data["targets"].items():
        facts = {**data["every"], **row}
        family = facts.pop("family", 0)
        versions = {word: facts.pop(key) for key, word in _SUFFIXES.items() if key in facts}
        if "cta_shared" not in facts and "shared" in facts:
            facts["cta_shared"] = facts["shared"] - facts["shared_reserved"]
        if wrong := sorted(facts.keys() ^ _UNITS.keys()):
            word = "needs" if wrong[0] in _UNITS else "knows no"
            raise TableError(f"targets.toml: a target {word} '{wrong[0]}' (sm_{number})")
        for suffix, version in versions.items():
            own = facts | ({"static_shared": facts["cta_shared"]} if suffix == "a" else {})
            limits = {name: _scaled(own[name], unit) for name, unit in _UNITS.items()}
            minimum = parse_needs(version).version
            table.targets.append(TargetEntry(int(number), suffix, minimum, family, limits))


def _scaled(value: int | list[int], unit: int) -> Limit:
    return tuple(value) if isinstance(value, list) else value * unit


def target_rows(table: Table) -> list[str]:
    """Rows of kTargets."""
    rows = []
    for entry in table.targets:
        suffix = f"'{entry.suffix}'" if entry.suffix else "0"
        major, minor = entry.version
        rows.append(
            f"{{{{{entry.sm}, {suffix}}}, {{{major}, {minor}}}, {entry.family}, "
            f"{{{_members(entry.limits)}}}}}"
        )
    return rows


def largest_limits(table: Table) -> str:
    """Members of an isa::Limits that has of each the most that any target has."""
    every = [entry.limits for entry in table.targets]
    return _members({name: max(limits[name] for limits in every) for name in _UNITS if every})


def _members(limits: dict[str, Limit]) -> str:
    def value(limit: Limit) -> str:
        return str(limit) if isinstance(limit, int) else f"{{{', '.join(map(str, limit))}}}"

    return ", ".join(f".{name} = {value(limit)}" for name, limit in limits.items())
