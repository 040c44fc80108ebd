# SPDX-License-Identifier: Apache-2.0
"""What a GPU left behind of the first programs: a hash of each program's results."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from record.launch import Bytes, Launch

from .generate import HEAD, TARGET, Program, generate, table

ROOT = Path(__file__).resolve().parents[3]
PATH = ROOT / "tests/data/programs.xz"
HASH = 8  # bytes
Run: TypeAlias = Callable[[Launch], list[Bytes]]


def launch_of(program: Program) -> Launch:
    """Make the launch of a program."""
    return Launch(
        program.name, TARGET, [table(), np.zeros(program.result_bytes, np.uint8)], [],
        HEAD + program.text, entry=program.name,
        grid=(program.blocks, 1, 1), block=(program.threads, 1, 1),
    )  # fmt: skip


def hash_of(results: Bytes) -> bytes:
    """Return the hash of a program's results."""
    return hashlib.blake2b(results.tobytes(), digest_size=HASH).digest()


def answer(seed: int, run: Run) -> bytes:
    """Run the program of a seed; return the hash of its results."""
    return hash_of(run(launch_of(generate(seed)))[1])


def read(path: Path = PATH) -> list[bytes]:
    """Read the hashes of the programs 0, 1, ..."""
    data = lzma.decompress(path.read_bytes())
    return [data[at : at + HASH] for at in range(0, len(data), HASH)]


def write(hashes: list[bytes], path: Path = PATH) -> None:
    """Write the hashes of the programs 0, 1, ..."""
    path.write_bytes(lzma.compress(b"".join(hashes)))
