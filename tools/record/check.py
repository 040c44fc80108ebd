# SPDX-License-Identifier: Apache-2.0
"""Runs a recorded set on the emulator: what differs from the hardware, and what is refused."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from pyptx import EmulatorError

from .compare import Difference, difference
from .launch import Launch, VectorSet
from .run import on_emulator
from .store import Recording

UNSUPPORTED = "PTX0902"


@dataclass(frozen=True)
class Known:
    """Parts that may differ: the set, a pattern of keys, and the reason."""

    set_name: str
    pattern: str
    why: str

    def covers(self, set_name: str, key: str) -> bool:
        """Say whether this entry speaks of a part."""
        return set_name == self.set_name and re.fullmatch(self.pattern, key) is not None


@dataclass
class Outcome:
    """What became of the parts of a recording."""

    equal: list[str] = field(default_factory=list)
    different: list[Difference] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # key: the reason
    missing: list[str] = field(default_factory=list)  # not in the recording

    def problems(self, set_name: str, known: list[Known]) -> list[str]:
        """Return what no entry accounts for."""
        texts = {one.key: str(one) for one in self.different}
        texts |= {key: f"{key}\n  is refused: {why}" for key, why in self.refused.items()}
        return [
            text
            for key, text in texts.items()
            if not any(entry.covers(set_name, key) for entry in known)
        ]

    def unneeded(self, set_name: str, known: list[Known]) -> list[Known]:
        """Return the entries of a set that nothing needs."""
        keys = {one.key for one in self.different} | self.refused.keys()
        return [
            entry
            for entry in known
            if entry.set_name == set_name and not any(entry.covers(set_name, key) for key in keys)
        ]


def load_known(path: Path) -> list[Known]:
    """Read the list of known differences."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])
    return [Known(row["set"], row["pattern"], row["why"]) for row in rows]


def check(one: VectorSet, recording: Recording) -> Outcome:
    """Run every launch of a set that has recorded parts."""
    outcome = Outcome()
    for launch in one.launches(recording.target):
        _check_launch(launch, recording, outcome)
    return outcome


def _check_launch(launch: Launch, recording: Recording, outcome: Outcome) -> None:
    recorded = [part for part in launch.parts if part.key in recording.records]
    outcome.missing += [part.key for part in launch.parts if part.key not in recording.records]
    if not recorded:
        return
    try:
        buffers = on_emulator(launch)
    except EmulatorError as error:
        if error.diagnostics[0].code != UNSUPPORTED:
            raise
        singles = launch.singles() if launch.singles is not None else []
        for single in singles:
            _check_launch(single, recording, outcome)
        if not singles:
            why = str(error).partition("\n")[0]
            outcome.refused |= {part.key: why for part in recorded}
        return
    for part in recorded:
        found = difference(part, part.of(buffers), recording.records[part.key])
        if found is None:
            outcome.equal.append(part.key)
        else:
            outcome.different.append(found)
