# SPDX-License-Identifier: Apache-2.0
"""``python -m record.programs compare 0 20000`` runs programs on a GPU and on the emulator.

It prints the seeds whose results differ. ``check`` compares the emulator with the stored hashes,
``record N`` stores those of the first N programs, ``show SEED`` prints a program. `compare` and
`record` need CUDA and torch.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from record.run import on_device, on_emulator

from . import golden
from .generate import HEAD, generate


def _emulated(seed: int) -> bytes:
    return golden.answer(seed, on_emulator)


def _on_gpu(seed: int) -> bytes:
    return golden.answer(seed, on_device)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="record.programs", description=__doc__)
    parser.add_argument("command", choices=("check", "compare", "record", "show"))
    parser.add_argument("numbers", nargs="*", type=int, help="of compare: first seed and count")
    options = parser.parse_args()
    if options.command == "show":
        print(HEAD + generate(options.numbers[0]).text, end="")
        return 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        if options.command == "record":
            golden.write(list(pool.map(_on_gpu, range(options.numbers[0]))))
            return 0
        if options.command == "compare":
            first, count = options.numbers
            expected = pool.map(_on_gpu, range(first, first + count), chunksize=16)
        else:
            known = golden.read()
            first, count = 0, len(known)
            expected = iter(known)
        found = pool.map(_emulated, range(first, first + count), chunksize=16)
        both = zip(expected, found, strict=True)
        wrong = [first + number for number, (one, other) in enumerate(both) if one != other]
    print(f"{count} programs, {len(wrong)} differ: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
