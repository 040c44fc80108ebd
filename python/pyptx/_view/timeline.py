# SPDX-License-Identifier: Apache-2.0
"""The trace of an emulated run as tracks: warps, mbarriers, and what was under way.

It reads the file that Perfetto opens, too. Time is counted in steps: a warp takes one for each
instruction. Of a long trace the first CTAs are kept, whole, and it is said how many there were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: How the trace begins the names of what is an mbarrier, and the categories of its events.
_BARRIER = "mbarrier "
_STEP, _WAIT, _PHASE = "instruction", "wait", "phase"
#: What a page takes without being slow to open.
MOST_EVENTS = 60_000


@dataclass(slots=True)
class Track:
    """A warp or an mbarrier of a CTA."""

    name: str
    cta: str
    is_barrier: bool
    #: Flat rows; an instruction is a number in the order of the kernel, -1 where there is none.
    #: Start, length, instruction; a run of steps of one instruction each is one row per step.
    steps: list[int] = field(default_factory=list)
    #: Start, length, instruction, name, and who ended it: track, instruction, whether a copy did.
    waits: list[int] = field(default_factory=list)
    #: Start, length, instruction, bytes.
    flights: list[int] = field(default_factory=list)
    #: Start, length, number, and who ended it: track, instruction, whether a copy did.
    phases: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Timeline:
    """Tracks in the order of CTAs; those of a CTA warps first."""

    tracks: list[Track] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of waits
    end: int = 0
    ctas: int = 0  # in all
    dropped: int = 0  # events that the emulator left out

    def as_data(self, row_of: Callable[[int], int], named: Callable[[str], str]) -> dict[str, Any]:
        """Return plain data, with rows of the PTX for instructions and names for places."""

        def placed(values: list[int], width: int, *fields: int) -> list[int]:
            out = list(values)
            for index in fields:
                out[index::width] = [row_of(value) for value in values[index::width]]
            return out

        return {
            "end": self.end,
            "names": [_named(name, named) for name in self.names],
            "ctas": self.ctas,
            "dropped": self.dropped,
            "tracks": [
                {
                    "name": named(track.name) if track.is_barrier else track.name,
                    "cta": track.cta,
                    "barrier": track.is_barrier,
                    "steps": placed(track.steps, 3, 2),
                    "waits": placed(track.waits, 7, 2, 5),
                    "flights": placed(track.flights, 4, 2),
                    "phases": placed(track.phases, 6, 4),
                }
                for track in self.tracks
            ],
        }


def _named(wait: str, named: Callable[[str], str]) -> str:
    what, _, place = wait.partition(" ")
    return f"{what} {named(place)}" if what == _BARRIER.strip() else wait


def read(path: Path) -> Timeline | None:
    """Read a trace; None where the run ended before it wrote any."""
    ctas: dict[int, str] = {}
    names: dict[tuple[int, int], str] = {}
    by_cta: dict[int, list[dict[str, Any]]] = {}
    kept, is_full, dropped = 0, False, 0
    for event in _events(path):
        if "events_left_out" in event:
            dropped = int(event["events_left_out"])
            continue
        pid, kind = int(event.get("pid", 0)), event.get("name")
        if event["ph"] == "M":
            if kind == "process_name":
                ctas[pid] = event["args"]["name"]
                is_full = kept >= MOST_EVENTS
            elif kind == "thread_name" and not is_full:
                names[pid, int(event["tid"])] = event["args"]["name"]
        elif not is_full:
            by_cta.setdefault(pid, []).append(event)
            kept += 1
    if not by_cta:
        return None
    return _tracks(ctas, names, by_cta, dropped)


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """Give one event per line of the file, and what stands behind them."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            text = line.strip().rstrip(",")
            if text.startswith('{"ph"'):
                yield json.loads(text)
            elif text.startswith('],"otherData"'):
                yield json.loads("{" + text.removeprefix("],"))["otherData"]


def _tracks(
    ctas: dict[int, str],
    names: dict[tuple[int, int], str],
    by_cta: dict[int, list[dict[str, Any]]],
    dropped: int,
) -> Timeline:
    line = Timeline(ctas=len(ctas), dropped=dropped)
    # mbarriers have numbers as they come; a reader looks for them where they lie.
    shown = [key for key in names if key[0] in by_cta]
    shown.sort(key=lambda key: (key[0], _address(names[key]), key[1]))
    index = {key: number for number, key in enumerate(shown)}
    waits: dict[str, int] = {}
    for pid, tid in shown:
        name = names[pid, tid]
        is_barrier = name.startswith(_BARRIER)
        line.tracks.append(Track(name.removeprefix(_BARRIER), ctas[pid], is_barrier))
    open_flights: dict[str, dict[str, Any]] = {}
    for event in (event for pid in sorted(by_cta) for event in by_cta[pid]):
        key = (int(event["pid"]), int(event["tid"]))
        if key not in index:
            continue
        track = line.tracks[index[key]]
        start, length = event["ts"], event.get("dur", 0)
        line.end = max(line.end, start + length)
        args = event.get("args", {})
        category = event["cat"]
        if category == _STEP:
            track.steps += (start, length, args["pc"])
        elif category == _WAIT:
            name = event["name"].removeprefix("wait: ")
            number = waits.setdefault(name, len(waits))
            track.waits += (start, length, args["pc"], number, *_cause(args, index))
        elif category == _PHASE:
            number = int(event["name"].removeprefix("phase "))
            track.phases += (start, length, number, *_cause(args, index))
        elif event["ph"] == "b":
            open_flights[event["id"]] = event
        else:
            begun = open_flights.pop(event["id"])
            track.flights += (
                begun["ts"],
                start - begun["ts"],
                begun["args"]["pc"],
                begun["args"]["bytes"],
            )
    line.names = list(waits)
    return line


def _address(name: str) -> int:
    found = re.match(r"mbarrier 0x([0-9a-f]+)", name)
    return int(found[1], 16) if found else -1


def _cause(args: dict[str, Any], index: dict[tuple[int, int], int]) -> tuple[int, int, int]:
    """Return track, instruction and whether a copy did it; -1 where it is not known."""
    if "by_pc" not in args:
        return -1, -1, 0
    track = index.get((int(args["by_pid"]), int(args["by_tid"])), -1)
    return track, int(args["by_pc"]), int(args["by"].startswith("operation"))
