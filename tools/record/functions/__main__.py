# SPDX-License-Identifier: Apache-2.0
"""``python -m record.functions check`` compares the emulator with what a GPU answered.

``check --all`` tries every input (minutes); ``record`` asks a GPU for the hashes of all inputs and
``tables`` for the answers that the C++ tables are made of: both need CUDA and torch.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from record.launch import Bytes
from record.run import on_device, on_emulator

from . import fit, golden
from .kernels import FORMS, answering, hashes, hashing
from .tables import text_of

TABLES = golden.ROOT / "src/emu/numerics/special_function_tables.h"
AT_ONCE = 1 << 12  # blocks of a launch on the device


def _check(everything: bool, names: list[str]) -> int:
    known = golden.read(golden.PATH)
    failures = 0
    for form in FORMS:
        if names and form.name not in names:
            continue
        wrong: list[int]
        if everything:
            wrong = list(golden.wrong_groups(form, known[form.name], on_emulator))
        else:
            wrong = golden.wrong_samples(form, known[form.name], on_emulator)
        failures += bool(wrong)
        what = "groups" if everything else "blocks"
        print(f"{form.name:24} {f'{what} {wrong} differ' if wrong else 'equal'}", flush=True)
    return 1 if failures else 0


def _all_hashes(form: Any) -> Bytes:
    count = min(form.blocks, AT_ONCE)
    firsts = range(0, form.blocks, count)
    return np.concatenate([hashes(on_device(hashing(form, first, count))) for first in firsts])


def _answers(name: str, start: int, stride: int, count: int) -> Bytes:
    form = next(form for form in FORMS if form.name == name)
    return on_device(answering(form, start, stride, count))[0].view(np.uint32)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="record.functions", description=__doc__)
    parser.add_argument("command", choices=("check", "record", "tables"))
    parser.add_argument("forms", nargs="*", help="of check: only these")
    parser.add_argument("--all", action="store_true", help="of check: every input")
    options = parser.parse_intermixed_args()
    if options.command == "check":
        return _check(options.all, options.forms)
    if options.command == "record":
        goldens = [golden.golden_of(form, _all_hashes(form)) for form in FORMS]
        golden.write(golden.PATH, goldens)
    else:
        TABLES.write_text(text_of(one(_answers) for one in fit.FITS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
