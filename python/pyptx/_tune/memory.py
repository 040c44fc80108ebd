# SPDX-License-Identifier: Apache-2.0
"""What of a tuning goes into its record, and what comes back from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyptx import _core, _toolchain
from pyptx._errors import Error
from pyptx._tune.arguments import Arguments
from pyptx._tune.build import Candidate
from pyptx._tune.search import Standing

#: What is kept of a trial.
_KEPT = ("status", "why", "seconds", "registers", "spills", "shared", "ctas", "warps")
#: What no other run would find otherwise.
_FINAL = ("refused", "wrong", "failed")


def multiprocessors(arguments: Arguments) -> int | None:
    """Return how many the device has; None for the emulator."""
    if arguments.ordinal is None:
        return None
    return int(_core.device_info(arguments.ordinal)["multiprocessors"])


def device_name(arguments: Arguments) -> str:
    """Return the name of the device."""
    if arguments.ordinal is None:
        return "the emulator"
    return str(_core.device_info(arguments.ordinal)["name"])


def _compiler() -> str | None:
    _toolchain.announce_folders()
    try:
        return _core.current_compiler()
    except Error:
        return None


def key_of(
    name: str, arguments: Arguments, candidates: Sequence[Candidate], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return everything that the answer depends on."""
    from pyptx import __version__

    device: dict[str, Any] = {"name": device_name(arguments)}
    if arguments.ordinal is not None:
        info = _core.device_info(arguments.ordinal)
        device |= {name: info[name] for name in ("capability", "multiprocessors")}
        device["driver"] = _core.driver_version()
    costly = [c.digest for c in candidates if c.trial.status == "pruned" and c.by is None]
    return {
        "pyptx": __version__,
        "kernel": name,
        "device": device,
        "compiler": _compiler(),
        "arguments": arguments.kinds(),
        "images": [candidate.digest for candidate in candidates],
        "costly": costly,
        "costs": [candidate.trial.cost for candidate in candidates]
        if options["search"] == "static"
        else None,
        **options,
    }


def found_so_far(
    candidates: Sequence[Candidate], standing: Standing | None, *, is_finished: bool = False
) -> dict[str, Any]:
    """Return what to remember."""
    digests = {candidate.index: candidate.digest for candidate in candidates}
    trials = {
        candidate.digest: {name: getattr(candidate.trial, name) for name in _KEPT}
        for candidate in candidates
        if candidate.digest and candidate.trial.status != "same"
    }
    found: dict[str, Any] = {"is_finished": is_finished, "trials": trials}
    if standing is not None:
        found["rung"] = standing.rung
        found["alive"] = [digests[index] for index in standing.alive]
    elif not is_finished:
        found["rung"] = 0
        found["alive"] = [c.digest for c in candidates if c.is_alive]
    return found


def recalled(candidates: Sequence[Candidate], found: Mapping[str, Any]) -> Candidate | None:
    """Return the best one of a finished tuning, with what was found of all; None of another."""
    if not found["is_finished"]:
        return None
    best = None
    for candidate in candidates:
        kept = found["trials"].get(candidate.digest)
        if kept is None or candidate.trial.status == "same":
            continue
        for name in _KEPT:
            setattr(candidate.trial, name, kept[name])
        if candidate.trial.status == "best":
            best = candidate
    return best


def resumed(candidates: Sequence[Candidate], found: Mapping[str, Any] | None) -> Standing | None:
    """Return where a tuning that was ended had come to: after its checks, or after a rung."""
    if found is None or found["is_finished"]:
        return None
    by_digest = {c.digest: c for c in candidates if c.digest and c.trial.status != "same"}
    for digest, kept in found["trials"].items():
        candidate = by_digest.get(digest)
        if candidate is None:
            continue
        candidate.trial.seconds = kept["seconds"]
        if kept["status"] in (*_FINAL, "pruned"):
            candidate.drop(kept["status"], kept["why"])
        elif candidate.trial.status == "pruned":  # taken back for one that was no good
            candidate.by = None
            candidate.drop("checked", "")
    alive = [by_digest[digest].index for digest in found["alive"] if digest in by_digest]
    seconds = {c.index: c.trial.seconds for c in by_digest.values() if c.trial.seconds}
    return Standing(seconds, alive, int(found["rung"]), {})
