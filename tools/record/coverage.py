# SPDX-License-Identifier: Apache-2.0
"""The page docs/emulator/coverage.md: what the emulator does with every form of the table.

``python -m record.coverage --out docs/emulator`` or ``--check docs/emulator``. A form counts as
recorded when an instruction of it ran in a kernel whose results are in tests/data/vectors.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from isagen import committed
from isagen.table import Form, Table

from . import store
from .cases import ROOT, table
from .sets import SETS

PAGE = "coverage.md"
VECTORS = ROOT / "tests/data/vectors"
# Families whose .approx and .full forms the manual bounds instead of defining.
_APPROXIMATE = {"rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "div"}
_INSTRUCTION = re.compile(r"(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:\.[\w:]+)*)\s*([^;]*);")
_HEAD = """# What the emulator runs

Every form of the instruction table: **exact** (the manual's result, bit for bit), **approximate**
(inside the manual's bounds, where it gives bounds instead of a result), or why it is **refused**
before the kernel starts. *Recorded* says that the form ran in a kernel whose results were recorded
on a GPU; `tests/test_vectors.py` holds the emulator to them, and
`tests/data/vectors/differences.toml` lists what differs and why. Written by `make coverage`.
"""


def status(form: Form) -> str:
    """Return what the emulator does with a form."""
    if not form.sem:
        return f"refused: {form.reason}"
    words = {value.text for slot in form.slots for value in slot.values}
    if form.sem in _APPROXIMATE and words & {"approx", "full"}:
        return "approximate"
    return "exact"


def fits(form: Form, words: list[str], operands: int) -> bool:
    """Say whether a spelling may be of a form: every word has a slot, no slot is left empty."""
    rest = list(words)
    for slot in form.slots:
        texts = {value.text for value in slot.values}
        found = next((word for word in rest if word in texts), None)
        if found is not None:
            rest.remove(found)
        elif not slot.optional:
            return False
    least = sum(not operand.use.optional for operand in form.operands)
    return not rest and least <= operands <= len(form.operands)


def instructions(text: str) -> Iterator[tuple[str, list[str], int]]:
    """Return opcode, modifiers and number of operands of every instruction of a module."""
    for match in _INSTRUCTION.finditer(re.sub(r"\s+", " ", text)):
        opcode, *words = match[1].split(".")
        flat = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "x", match[2]).strip()
        yield opcode, words, flat.count(",") + 1 if flat else 0


def recorded_forms(forms: list[Form]) -> set[int]:
    """Return the numbers of the forms that ran in recorded kernels."""
    by_opcode: dict[str, list[int]] = {}
    for number, form in enumerate(forms):
        by_opcode.setdefault(form.opcode, []).append(number)
    seen: set[tuple[str, tuple[str, ...], int]] = set()
    found: set[int] = set()
    for one in SETS.values():
        for target in one.targets:
            path = VECTORS / store.file_name(one.name, target)
            if not path.exists():
                continue
            keys = store.read(path).records.keys()
            for launch in one.launches(target):
                if not any(part.key in keys for part in launch.parts):
                    continue
                text = launch.ptx or str(launch.image.ptx)
                for opcode, words, count in instructions(text):
                    spelling = (opcode, tuple(words), count)
                    if spelling in seen:
                        continue
                    seen.add(spelling)
                    found |= {
                        number
                        for number in by_opcode.get(opcode, [])
                        if fits(forms[number], words, count)
                    }
    return found


def page(known: Table) -> str:
    """Write the page."""
    forms = known.forms
    recorded = recorded_forms(forms)
    states = [status(form) for form in forms]
    counts = {
        kind: sum(state.startswith(kind) for state in states)
        for kind in ("exact", "approximate", "refused")
    }
    lines = [_HEAD]
    lines.append(
        f"{len(forms)} forms: {counts['exact']} exact, {counts['approximate']} approximate, "
        f"{counts['refused']} refused; {len(recorded)} recorded.\n"
    )
    file = ""
    for number, form in enumerate(forms):
        if form.file != file:
            file = form.file
            name = file.removesuffix(".toml")
            lines += [f"\n## [{name}](../isa/{name}.md)\n", "| form | emulator | recorded |"]
            lines.append("|---|---|---|")
        text = form.syntax.replace("|", "\\|")
        mark = "yes" if number in recorded else ""
        lines.append(f"| `{text}` | {states[number]} | {mark} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or say that it is out of date."""
    parser = argparse.ArgumentParser(prog="record.coverage", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the page")
    parser.add_argument("--check", type=Path, help="fail when the page there is out of date")
    options = parser.parse_args()
    pages = {PAGE: page(table())}
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        committed.write(options.out, pages, PAGE)
    if options.check and committed.stale(options.check, pages, PAGE):
        print("record.coverage: out of date; run make coverage", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
