# SPDX-License-Identifier: Apache-2.0
"""The page docs/emulator/coverage.md: what the emulator does with every form of the table.

``python -m record.coverage --out docs/emulator`` or ``--check docs/emulator``. A form has a vector
when an instruction of it runs in a kernel whose results are in tests/data/vectors, or are worked
out apart from the emulator.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from isagen import committed
from isagen.table import Form, Table

from .cases import table
from .decoding import refusals
from .forms import recorded_forms, worked_forms

PAGE = "coverage.md"
# Files of forms that tests/emu/test_tcgen05_*.py hold to NumPy, in kernels of their own.
ELSEWHERE = ("tcgen05_memory.toml", "tcgen05_mma.toml")
# Families whose .approx and .full forms the manual bounds instead of defining.
_APPROXIMATE = {"rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "div"}
_HEAD = """# What the emulator runs

Every form of the instruction table: **exact** (the manual's result, bit for bit), **as an H200**
(the machine's result, bit for bit on every input, where the manual gives bounds instead), **in
part** with what of it is refused, or why it is **refused** before the kernel starts. All examples
of the table are decoded to tell: what is exact or as an H200 refuses none.

The *vector* of a form is a kernel in which it runs and whose results are known: **recorded** on a
GPU (`tests/emu/test_vectors.py` holds the emulator to them, and
`tests/data/vectors/differences.toml` lists what differs and why), or **worked** out by hand or in
Python from the manual's definition (`tests/emu/test_worked_vectors.py`), which is all there is for
what the recording machine, an H200, cannot run. Tensor memory is held to **NumPy** by
`tests/emu/test_tcgen05_*.py`. Every form that the emulator runs has one of these.

What depends on values is refused when it runs: a `tcgen05.mma` whose descriptor says K = 96.
Written by `make coverage`.
"""


def status(form: Form) -> str:
    """Return what the emulator does with a form."""
    if not form.sem:
        return f"refused: {form.reason}"
    if reasons := refusals(form):
        return f"in part: {'; '.join(reasons)}"
    words = {value.text for slot in form.slots for value in slot.values}
    if form.sem in _APPROXIMATE and words & {"approx", "full"}:
        return "as an H200"
    return "exact"


def page(known: Table) -> str:
    """Write the page."""
    forms = known.forms
    recorded, worked = recorded_forms(), worked_forms()
    states = [status(form) for form in forms]
    counts = {
        kind: sum(state.startswith(kind) for state in states)
        for kind in ("exact", "as an H200", "in part", "refused")
    }
    lines = [_HEAD]
    lines.append(
        f"{len(forms)} forms: {counts['exact']} exact, {counts['as an H200']} as an H200, "
        f"{counts['in part']} in part, {counts['refused']} refused; {len(recorded)} recorded, "
        f"{len(worked - recorded)} more worked out.\n"
    )
    file = ""
    for number, form in enumerate(forms):
        if form.file != file:
            file = form.file
            name = file.removesuffix(".toml")
            lines += [f"\n## [{name}](../isa/{name}.md)\n", "| form | emulator | vector |"]
            lines.append("|---|---|---|")
        text = form.syntax.replace("|", "\\|")
        mark = "recorded" if number in recorded else "worked" if number in worked else ""
        if form.sem and form.file in ELSEWHERE:
            mark = "NumPy"
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
