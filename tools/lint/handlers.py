# SPDX-License-Identifier: Apache-2.0
"""Checks that each semantics of the instruction table has one handler, where the rule has it.

The rule is the table of `src/emu/sem/README.md`: folders with their chapters of the PTX manual, and
the semantics of other chapters that they hold. A chapter is told by the `manual` of a row, an
anchor that begins with the chapter's title. A semantics without a handler does not link either;
this says where to write it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from isagen.model import load  # noqa: E402
from isagen.table import Form  # noqa: E402

FOLDER = "src/emu/sem"
_ROW = re.compile(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|$", re.MULTILINE)
_HANDLER = re.compile(r"^Handler select_(\w+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Rule:
    """What a folder holds: chapters, as their anchors begin, and semantics of others."""

    folder: str
    chapters: tuple[str, ...]
    others: tuple[str, ...]


def read_rules(text: str) -> list[Rule]:
    """Read the table of the README."""
    return [
        Rule(
            match[1],
            tuple(title.strip().lower().replace(" ", "-") for title in match[2].split(",")),
            tuple(re.findall(r"`(\w+)`", match[3])),
        )
        for match in _ROW.finditer(text)
    ]


def folders_of(rules: list[Rule], sem: str, anchors: set[str]) -> list[str]:
    """Where the handler of `sem` may be: with what it is named among, else with its chapters."""
    named = [rule.folder for rule in rules if sem in rule.others]
    return named or [
        rule.folder for rule in rules if any(anchor.startswith(rule.chapters) for anchor in anchors)
    ]


def defined(root: Path) -> dict[str, list[str]]:
    """Folders of the handlers by semantics."""
    result: dict[str, list[str]] = {}
    for path in sorted((root / FOLDER).rglob("*.cpp")):
        for match in _HANDLER.finditer(path.read_text(encoding="utf-8")):
            folder = path.parent.relative_to(root / FOLDER).as_posix()
            result.setdefault(match[1], []).append(folder)
    return result


def problems(root: Path, forms: list[Form]) -> Iterator[str]:
    """One line for each semantics without a handler, or with one in another place."""
    rules = read_rules((root / FOLDER / "README.md").read_text(encoding="utf-8"))
    handlers = defined(root)
    for sem in sorted({form.sem for form in forms if form.sem}):
        rows = [form for form in forms if form.sem == sem]
        here = handlers.pop(sem, [])
        folders = folders_of(rules, sem, {form.manual for form in rows})
        if not folders:
            yield f"{rows[0].where}: {FOLDER}/README.md has no folder for '{rows[0].manual}'"
        elif len(here) != 1 or here[0] not in folders:
            place = " or ".join(f"{FOLDER}/{folder}" for folder in folders)
            found = ", ".join(here) or "nowhere"
            yield f"{rows[0].where}: Handler select_{sem}(Lowering&) belongs in {place}: is {found}"
    yield from (f"{FOLDER}: select_{sem}: no row has that sem" for sem in sorted(handlers))


def main() -> int:
    """Print the problems; the exit status says whether there were any."""
    found = list(problems(ROOT, load(ROOT / "isa").forms))
    print("\n".join(found) if found else "handlers: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
