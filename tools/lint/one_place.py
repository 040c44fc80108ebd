# SPDX-License-Identifier: Apache-2.0
"""Finds a second place that knows an instruction.

The table under isa/ is the one place. Other sources may spell an instruction, since the table
judges what they spell, but may not decide on the words of one: compare a text with an opcode or a
modifier, or keep a list of such words. Types and directives are the vocabulary of declarations too,
so they are not looked at. A line that must decide says why: ``one-place: reason``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from isagen.model import load  # noqa: E402
from isagen.table import Table  # noqa: E402

FOLDERS = ("src", "include", "python", "cli", "bench", "tools")
# The generator's own notation, lints about words, the certifier and the recorded vectors (tests of
# the table and of the emulator), and the emulator, whose handlers say what modifiers do, never
# whether they may stand there.
EXEMPT = ("tools/isagen/", "tools/lint/", "tools/certify/", "tools/record/", "src/emu/")
MARK = "one-place:"
_STRING = r'"((?:[^"\\\n]|\\.)*)"'
_COMPARISON = re.compile(
    rf"[=!]=\s*{_STRING}|{_STRING}(?:sv)?\s*[=!]=|(?:starts_with|ends_with|contains|find)\({_STRING}\)"
)
_LIST = re.compile(rf"\{{\s*{_STRING}\s*(?:,\s*{_STRING}\s*)+,?\s*\}}")


def guarded_words(table: Table) -> set[str]:
    """Opcodes and modifiers, less types and the words of declarations."""
    words = {form.opcode for form in table.forms}
    words |= {value.text for form in table.forms for slot in form.slots for value in slot.values}
    types = {entry.name for entry in table.types}
    directives = {entry.name for entry in table.directives}
    return words - types - directives - {entry.name for entry in table.pragmas}


def is_instruction_word(text: str, words: set[str]) -> bool:
    """``ld``, ``.acquire``, ``ld.global.f32``; not one letter, which means anything."""
    first = text.strip().lstrip(".").split(".")[0]
    return len(first) > 1 and first in words


def is_list_of_words(entries: Sequence[str | None], words: set[str]) -> bool:
    """At least two words, all of instructions; a row such as {"max", "max"} is no list."""
    is_all = all(entry and is_instruction_word(entry, words) for entry in entries)
    return is_all and len(set(entries)) > 1


def decisions_in_cpp(text: str, words: set[str]) -> Iterator[tuple[int, str]]:
    """Lines and words of comparisons and lists in C++."""
    code = re.sub(r"//(?!.*one-place:)[^\n]*", "", text)
    for match in _COMPARISON.finditer(code):
        word = next(group for group in match.groups() if group is not None)
        if is_instruction_word(word, words):
            yield code.count("\n", 0, match.start()) + 1, word
    for match in _LIST.finditer(code):
        entries = re.findall(_STRING, match[0])
        if is_list_of_words(entries, words):
            yield code.count("\n", 0, match.start()) + 1, ", ".join(entries)


def decisions_in_python(text: str, words: set[str]) -> Iterator[tuple[int, str]]:
    """Lines and words of comparisons, membership, startswith and collections in Python."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.expr):
            continue
        candidates: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            candidates = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("startswith", "endswith"):
                candidates = node.args
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 1:
            entries = [_constant(element) for element in node.elts]
            if is_list_of_words(entries, words):
                yield node.lineno, ", ".join(str(entry) for entry in entries)
        for candidate in candidates:
            word = _constant(candidate)
            if word and is_instruction_word(word, words):
                yield node.lineno, word


def _constant(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def violations(root: Path, words: set[str]) -> list[str]:
    """One line for each decision below `root`."""
    problems = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in {".h", ".cpp", ".py", ".inc"} or name.startswith(EXEMPT):
                continue
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines()
            decide = decisions_in_python if path.suffix == ".py" else decisions_in_cpp
            for number, word in decide(text, words):
                around = lines[max(0, number - 2) : number]
                if not any(MARK in line for line in around):
                    problems.append(f"{name}:{number}: decides on '{word}': the table knows it")
    return problems


def main() -> int:
    """Print the violations; the exit status says whether there were any."""
    problems = violations(ROOT, guarded_words(load(ROOT / "isa")))
    print("\n".join(problems) if problems else "one place: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
