# SPDX-License-Identifier: Apache-2.0
"""What a GPU answered to every input of every form: hashes of some blocks, and of all together.

Per form, the lower halves of the hashes: one for each of up to 512 blocks (for a function of f32,
one per sign and exponent), then one for each of up to 256 equal groups of all blocks, its sum.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from record.launch import Bytes, Launch

from .kernels import FORMS, Form, hashes, hashing

ROOT = Path(__file__).resolve().parents[3]
PATH = ROOT / "tests/data/functions.xz"
SAMPLES = 512
GROUPS = 256
Run: TypeAlias = Callable[[Launch], list[Bytes]]


@dataclass(frozen=True)
class Golden:
    """The recorded halves of a form's hashes."""

    samples: Bytes
    groups: Bytes


def sampled(form: Form) -> Launch:
    """Make the launch over the blocks that are stored one by one."""
    count = min(form.blocks, SAMPLES)
    step = form.blocks // count
    return hashing(form, 0, count, step, step - 1)


def sample_numbers(form: Form) -> Bytes:
    """Return the numbers of the blocks that are stored one by one."""
    count = min(form.blocks, SAMPLES)
    step = form.blocks // count
    numbers = np.arange(count)
    return numbers * step + (numbers * 37 & (step - 1))


def _halved(values: Bytes) -> Bytes:
    return (values & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def golden_of(form: Form, all_hashes: Bytes) -> Golden:
    """Return what is stored of the hashes of all blocks of a form."""
    groups = all_hashes.reshape(min(form.blocks, GROUPS), -1).sum(axis=1, dtype=np.uint64)
    return Golden(_halved(all_hashes[sample_numbers(form)]), _halved(groups))


def write(path: Path, goldens: list[Golden]) -> None:
    """Write the file: the arrays of all forms in their order."""
    pieces = [array.tobytes() for one in goldens for array in (one.samples, one.groups)]
    path.write_bytes(lzma.compress(b"".join(pieces), preset=9))


def read(path: Path) -> dict[str, Golden]:
    """Read the file."""
    words = np.frombuffer(lzma.decompress(path.read_bytes()), np.uint32)
    found = {}
    for form in FORMS:
        samples, groups = min(form.blocks, SAMPLES), min(form.blocks, GROUPS)
        found[form.name] = Golden(words[:samples], words[samples : samples + groups])
        words = words[samples + groups :]
    if words.size:
        raise ValueError(f"{path.name} has {words.size} words more than the forms need")
    return found


def wrong_samples(form: Form, golden: Golden, run: Run) -> list[int]:
    """Return the numbers of the stored blocks that a machine answers otherwise."""
    got = _halved(hashes(run(sampled(form))))
    return [int(n) for n in sample_numbers(form)[got != golden.samples]]


def wrong_groups(form: Form, golden: Golden, run: Run) -> Iterator[int]:
    """Try all blocks; give the numbers of the groups that a machine answers otherwise."""
    size = form.blocks // golden.groups.size
    for number, wanted in enumerate(golden.groups):
        total = hashes(run(hashing(form, number * size, size))).sum(dtype=np.uint64)
        if _halved(total) != wanted:
            yield number
