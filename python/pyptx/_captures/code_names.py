# SPDX-License-Identifier: Apache-2.0
"""What the code of a function reads by name, from its bytecode alone.

Which objects stand behind the names is for `walk.py` to find out. A string in the code that
could be a name counts as one: `getattr(settings, "SCALE")` reads as `settings.SCALE` does.

Globals that no source can name are a tool's and are left out: pytest puts `@pytest_ar` into every
assert, to say more when it fails, and all of pytest and of what it has loaded is behind that.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyptx._kept import kept

_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
#: Since Python 3.12 `super().x` is one instruction.
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD")


class Names(NamedTuple):
    """What a code object, and the functions in it, read by name."""

    loaded: tuple[str, ...]
    #: Modules, a relative one as `..name`.
    imported: tuple[str, ...]
    attributes: frozenset[str]
    #: Attributes by the global they are read of, and of what has no name.
    by_global: dict[str | None, frozenset[str]]
    strings: frozenset[str]


@kept(4096)
def names_read(code: types.CodeType) -> Names:
    """Return the names that this code reads."""
    loaded: dict[str, None] = {}
    imported: dict[str, None] = {}
    by_global: dict[str | None, set[str]] = {}
    strings: set[str] = set()
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    root = None  # the global that the instruction before read, or an attribute of it
    for index, instruction in enumerate(instructions):
        name, operation = instruction.argval, instruction.opname
        if operation.startswith(_ATTRIBUTES):
            if root is None or root.isidentifier():
                by_global.setdefault(root, set()).add(name)
            continue
        root = name if operation.startswith(_GLOBALS) else None
        if root is not None:
            if root.isidentifier():
                loaded[root] = None
        elif operation == "IMPORT_NAME":
            level = instructions[index - 2].argval  # then come the names asked for
            imported["." * level + name] = None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = names_read(constant)
            loaded.update(dict.fromkeys(inner.loaded))
            imported.update(dict.fromkeys(inner.imported))
            strings |= inner.strings
            for root, attributes in inner.by_global.items():
                by_global.setdefault(root, set()).update(attributes)
        else:
            strings.update(text for text in _texts(constant) if text.isidentifier())
    frozen = {root: frozenset(attributes) for root, attributes in by_global.items()}
    every = frozenset().union(*frozen.values())
    return Names(tuple(loaded), tuple(imported), every, frozen, frozenset(strings))


def _texts(constant: Any) -> Iterator[str]:
    if isinstance(constant, str):
        yield constant
    elif isinstance(constant, (tuple, frozenset)):
        for item in constant:
            yield from _texts(item)


def modules_named(imported: str, package: str) -> tuple[str, ...]:
    """Return the modules that an import reads: `a.b` is found as an attribute of `a`."""
    name = imported.lstrip(".")
    level = len(imported) - len(name)
    if level:
        parent = package.rsplit(".", level - 1)[0]
        name = f"{parent}.{name}" if name else parent
    parts = name.split(".")
    return tuple(".".join(parts[: count + 1]) for count in range(len(parts)))
