# SPDX-License-Identifier: Apache-2.0
"""Which forms of the table a text uses, and which forms ran in kernels with known results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pyptx import _core

from . import store
from .cases import ROOT, table
from .derived import DERIVED
from .launch import Launch, VectorSet
from .sets import SETS
from .worked import Worked, WorkedSet

VECTORS = ROOT / "tests/data/vectors"


@cache
def _numbers() -> dict[str, list[int]]:
    """Return the numbers of the forms of every opcode, in the order of the table."""
    found: dict[str, list[int]] = {}
    for number, form in enumerate(table().forms):
        found.setdefault(form.opcode, []).append(number)
    return found


def forms_in(text: str) -> set[int]:
    """Return the numbers of the forms that the instructions of a text have."""
    return {_numbers()[opcode][place] for opcode, place in {*_core.forms(text)}}


def _text(launch: Launch) -> str:
    return launch.ptx or str(launch.image.ptx)


def texts_of(one: VectorSet, target: str) -> Iterator[tuple[list[str], str]]:
    """Return the keys and the text of every launch of a set."""
    if hasattr(one, "texts"):
        yield from one.texts(target)
        return
    for launch in one.launches(target):
        yield [part.key for part in launch.parts], _text(launch)


def worked_sets() -> list[WorkedSet]:
    """Return the sets whose results are known without a machine."""
    known = [one for one in SETS.values() if isinstance(one, WorkedSet)]
    return [*known, *DERIVED]


@cache
def worked_in(one: WorkedSet, target: str) -> tuple[Worked, ...]:
    """Return the launches of a set, made once: some of their results take long to work out."""
    return tuple(one.worked(target))


@cache
def worked_forms() -> frozenset[int]:
    """Return the numbers of the forms whose results are worked out."""
    pairs = [(one, target) for one in worked_sets() for target in one.targets]
    texts = {_text(worked.launch) for pair in pairs for worked in worked_in(*pair)}
    return frozenset().union(*map(forms_in, texts))


@cache
def recorded_forms() -> frozenset[int]:
    """Return the numbers of the forms that ran in kernels recorded on a GPU."""
    found: set[int] = set()
    for one in SETS.values():
        for target in one.targets:
            path = VECTORS / store.file_name(one.name, target)
            if not path.exists():
                continue
            keys = store.read(path).records.keys()
            texts = {text for of, text in texts_of(one, target) if not keys.isdisjoint(of)}
            found |= set().union(*map(forms_in, texts))
    return frozenset(found)
