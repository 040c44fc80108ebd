# SPDX-License-Identifier: Apache-2.0
"""types.toml: the types, in registers and as elements of tensors, read and printed."""

from __future__ import annotations

from typing import Any

from .names import Names
from .pools import quote
from .table import Table, TableError, TypeEntry

_KIND = {
    "bits": "Bits", "unsigned": "Unsigned", "signed": "Signed", "float": "Float",
    "predicate": "Predicate", "opaque": "Opaque",
}  # fmt: skip
_KEYS = {"bits", "register", "lanes", "element", "framework", "dlpack", "stored", "map"}


def load_types(table: Table, data: dict[str, Any]) -> None:
    """Read the types."""
    for kind, entries in data.items():
        for name, facts in entries.items():
            if unknown := sorted(facts.keys() - _KEYS):
                raise TableError(f"types.toml: unknown key '{unknown[0]}' ({name})")
            if ("framework" in facts) != ("dlpack" in facts):
                raise TableError(f"types.toml: 'framework' and 'dlpack' go together ({name})")
            bits, is_register = facts["bits"], facts.get("register", False)
            has_array = "framework" in facts
            table.types.append(
                TypeEntry(
                    name=name,
                    kind=kind,
                    bits=bits,
                    is_register=is_register,
                    storage=name if is_register else f"b{max(bits, 8)}",
                    lanes=facts.get("lanes", 1),
                    element=facts.get("element", bits),
                    framework=facts.get("framework", ""),
                    dlpack=facts.get("dlpack", 0),
                    stored=name if has_array else facts.get("stored", ""),
                    map=facts.get("map", ""),
                )
            )
    for entry in table.types:
        stored = table.type_named(entry.stored)
        if entry.stored and (stored is None or not stored.framework):
            raise TableError(f"types.toml: no framework has '{entry.stored}' ({entry.name})")
        if entry.map and table.type_named(entry.map) is None:
            raise TableError(f"types.toml: '{entry.map}' is no type ({entry.name})")


def type_rows(table: Table, names: Names) -> list[str]:
    """Rows of kTypes."""
    rows = ['{"", 0, TypeKind::None, false, Type::None}']
    for entry in table.types:
        register = "true" if entry.is_register else "false"
        rows.append(
            f"{{{quote(entry.name)}, {entry.bits}, TypeKind::{_KIND[entry.kind]}, {register}, "
            f"{names.types.qualified(entry.storage)}}}"
        )
    return rows


def element_rows(table: Table, names: Names) -> list[str]:
    """Rows of kElements, one for every type."""
    rows = ["{}"]
    for entry in table.types:
        rows.append(
            f"{{{entry.element}, {quote(entry.framework)}, {entry.dlpack}, {entry.lanes}, "
            f"{names.types.qualified(entry.stored)}, {names.types.qualified(entry.map)}}}"
        )
    return rows
