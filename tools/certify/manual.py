# SPDX-License-Identifier: Apache-2.0
"""The example instructions of a local copy of the PTX manual; its text stays where it is.

The operands of an example are names without a type, so its spelling is taken and our own operands
are fitted: those of every form that has all its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from isagen.table import Form, Table

from .fit import Fitter
from .instance import Instance

_EXAMPLE = re.compile(
    r"^\s*(?:\w+:\s+)?(?:@!?[%\w]+\s+)?([a-z][a-z0-9]*)((?:\.[A-Za-z0-9_:]+)*)(?:\s+[^;]*)?;"
)


def spellings(folder: Path, table: Table) -> list[tuple[str, tuple[str, ...]]]:
    """Opcode and modifiers of every line of an Examples section that is an instruction."""
    opcodes = {form.opcode for form in table.forms}
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    for path in sorted(folder.rglob("*.md")) if folder.is_dir() else [folder]:
        in_examples = False
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            heading = re.match(r"^[#*\s]*([A-Z][A-Za-z ]+?)[*:\s]*$", line)
            if heading:
                in_examples = heading[1].startswith("Example")
            match = _EXAMPLE.match(line) if in_examples else None
            if match and match[1] in opcodes:
                words = tuple(word for word in match[2].split(".") if word)
                found.setdefault((match[1], words))
    return list(found)


def examples(folder: Path, table: Table) -> Iterator[str]:
    """Each spelling with the operands of every form that has its words."""
    for opcode, words in spellings(folder, table):
        is_known = False
        for form in table.forms:
            if form.opcode != opcode:
                continue
            bound = bind(form, words)
            if bound is not None:
                is_known = True
                fitter = Fitter(table, form)
                for operands in (fitter.plain(bound), fitter.full(bound)):
                    yield Instance(opcode, words, tuple(operands)).text
        if not is_known:
            yield Instance(opcode, words, ()).text


def bind(form: Form, words: tuple[str, ...]) -> dict[str, str] | None:
    """Slots of a form for words in any order; None when a word has no place."""
    bound: dict[str, str] = {}
    for word in words:
        for slot in form.slots:
            if slot.name not in bound and any(value.text == word for value in slot.values):
                bound[slot.name] = word
                break
        else:
            return None
    if any(not slot.optional and slot.name not in bound for slot in form.slots):
        return None
    return bound
