# SPDX-License-Identifier: Apache-2.0
"""Files of recorded answers: a line of JSON, then the kept results, compressed with xz.

A part is stored as the results of a few of its cases and a checksum for each eighth of all. Of a
part that another target's file of the set has with the same answer, only the key is stored.
"""

from __future__ import annotations

import itertools
import json
import lzma
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .launch import Bytes, Part

FORMAT = 1
CHUNKS = 8
EMULATED = "emulator"  # the device of a recording that proves nothing


@dataclass(frozen=True)
class Record:
    """The answer of one part."""

    element: int
    cases: int
    sums: tuple[int, ...]
    kept: bytes


@dataclass
class Recording:
    """The answers of one set for one target, by key."""

    set_name: str
    target: str
    device: str
    records: dict[str, Record] = field(default_factory=dict)


def chunk_bounds(cases: int) -> list[tuple[int, int]]:
    """Return the ranges of cases that have a checksum each."""
    edges = [index * cases // CHUNKS for index in range(CHUNKS + 1)]
    return [(low, high) for low, high in itertools.pairwise(edges) if low < high]


def record_of(part: Part, results: Bytes) -> Record:
    """Return what is stored of a part's results (one row per case)."""
    rows = np.ascontiguousarray(results)
    sums = tuple(zlib.crc32(rows[low:high].tobytes()) for low, high in chunk_bounds(part.cases))
    return Record(part.element, part.cases, sums, rows[part.kept()].tobytes())


def file_name(set_name: str, target: str) -> str:
    """Return the name of the file that holds a set's answers for a target."""
    return f"{set_name}.{target}.xz"


def write(recording: Recording, folder: Path, like: str = "") -> Path:
    """Write a recording into a folder; `like`: the target whose file there may have the same."""
    other = folder / file_name(recording.set_name, like)
    known = read(other).records if like and other.exists() else {}
    equal = [key for key, record in recording.records.items() if known.get(key) == record]
    own = {key: recording.records[key] for key in sorted(recording.records.keys() - {*equal})}
    rows = [
        [key, record.element, record.cases, list(record.sums), len(record.kept)]
        for key, record in own.items()
    ]
    head = {
        "format": FORMAT,
        "set": recording.set_name,
        "target": recording.target,
        "device": recording.device,
        "parts": rows,
    }
    if equal:
        head |= {"like": like, "equal": sorted(equal)}
    blob = b"".join(record.kept for record in own.values())
    text = json.dumps(head, separators=(",", ":")).encode() + b"\n"
    path = folder / file_name(recording.set_name, recording.target)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text + blob, preset=9 | lzma.PRESET_EXTREME))
    return path


def read(path: Path) -> Recording:
    """Read a recording."""
    head_line, _, blob = lzma.decompress(path.read_bytes()).partition(b"\n")
    head = json.loads(head_line)
    if head["format"] != FORMAT:
        raise ValueError(f"{path.name} has format {head['format']}, not {FORMAT}")
    recording = Recording(head["set"], head["target"], head["device"])
    place = 0
    for key, element, cases, sums, size in head["parts"]:
        recording.records[key] = Record(element, cases, tuple(sums), blob[place : place + size])
        place += size
    if "like" in head:
        other = read(path.parent / file_name(head["set"], head["like"]))
        recording.records |= {key: other.records[key] for key in head["equal"]}
    return recording


def merged(recordings: Iterable[Recording]) -> Recording:
    """Join recordings of one set and target; of a key that several have, the last counts."""
    first, *rest = recordings
    whole = Recording(first.set_name, first.target, first.device, dict(first.records))
    for recording in rest:
        whole.records.update(recording.records)
        whole.device = recording.device
    return whole
