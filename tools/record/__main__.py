# SPDX-License-Identifier: Apache-2.0
"""``python -m record list``, ``all --out FOLDER``, or names of sets: see README.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from . import store
from .isolate import Runner, apart, run_all
from .launch import VectorSet
from .run import device_name, on_device, on_emulator
from .sets import SETS


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status is 1 when a launch failed."""
    parser = argparse.ArgumentParser(prog="record", description=__doc__)
    parser.add_argument("names", nargs="+", help="list, all, or names of sets")
    parser.add_argument("--out", type=Path, help="the folder that gets the files")
    parser.add_argument("--target", help="only texts for this target, such as sm_80")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--on", choices=("cuda", store.EMULATED), default="cuda")
    options = parser.parse_args(arguments)
    if options.names == ["list"]:
        for one in SETS.values():
            print(f"{one.name:16} {' '.join(one.targets):16} {one.about}")
        return 0
    if options.out is None:
        parser.error("--out FOLDER is missing")
    names = list(SETS) if options.names == ["all"] else options.names
    unknown = [name for name in names if name not in SETS]
    if unknown:
        parser.error(f"no set is called {unknown[0]!r}; there are {', '.join(SETS)}")
    is_cuda = options.on == "cuda"
    device = apart(device_name) if is_cuda else store.EMULATED
    run: Runner = on_device if is_cuda else on_emulator
    failures = 0
    for name in names:
        for target in SETS[name].targets:
            if options.target in (None, target):
                failures += _record(SETS[name], target, device, run, options)
    return 1 if failures else 0


def _record(
    one: VectorSet, target: str, device: str, run: Runner, options: argparse.Namespace
) -> int:
    """Record one set for one target; return the number of launches that failed."""
    start = time.monotonic()
    recording = store.Recording(one.name, target, device)
    failures = 0

    for launch, answer in run_all(one.launches(target), run, options.jobs):
        if isinstance(answer, str):
            failures += 1
            words = f"{launch.name} ({launch.parts[0].key}): {answer}"
            print(f"  {words[:600]}", file=sys.stderr, flush=True)
        else:
            recording.records.update(answer)
    first = one.targets[0]
    path = store.write(recording, options.out, like=first if target != first else "")
    seconds = time.monotonic() - start
    print(
        f"{path}: {len(recording.records)} parts, {path.stat().st_size} bytes, "
        f"{failures} failed launches, {seconds:.1f} s",
        flush=True,
    )
    return failures


if __name__ == "__main__":
    sys.exit(main())
