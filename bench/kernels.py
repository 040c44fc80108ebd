# SPDX-License-Identifier: Apache-2.0
"""Every kernel of pyptx.kernels against cuBLAS, torch, torch.compile, Triton and a copy.

    python bench/kernels.py [--only REGEX] [--quick] [--minutes 8] [--part 1/2] [--json FILE]
    python bench/kernels.py --merge FILE FILE ... --json FILE

The arms of a row are interleaved by `pyptx.bench.compare`. On a GPU an arm is a CUDA graph of calls
on inputs that together exceed L2 twice, so times are the GPU's, with nothing found in L2; `copy` is
torch's copy of as many bytes as have to move. Inputs are new in each run, and every arm's result is
checked against float64 before anything is timed: ours has to be right, a peer that is not is left
out. Peers that are not there are reported as absent.

`--minutes` is kept by leaving out cases, the least important first, which are then listed. Without
a GPU, or with `--device cpu`, small shapes run on the emulator: times of it say nothing of kernels.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import secrets
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernel_record
import torch
from kernel_cases import (
    COPY,
    OURS,
    PEERS_MAY,
    Case,
    Inputs,
    checked_rows,
    copy_arm,
    error_of,
)
from kernel_gemm import matmul_cases
from kernel_rows import row_cases

from pyptx import bench

BEYOND_L2 = 160_000_000  # bytes of inputs that are gone through before one comes again
GRAPH = 0.003  # seconds of work in a graph, about
MOST_LAUNCHES = 256
RIDGE = 100  # flops for a byte below which a product is compared with a copy
FLOPS, BYTES = 600e12, 4e12  # in a second, to guess how long a call takes
ROUNDS = {"sustained": 9, "burst": 5}
#: Seconds of work before them where the GPU has been busy until just now; rows take less power.
HEAT = {"matmul": 1.0}
LESS_HEAT = 0.2


class WrongError(Exception):
    """Our result is not the right one."""


def all_cases(device: str, quick: bool) -> list[Case]:
    """Return every case, those that matter most first."""
    cases = [*matmul_cases(device, quick), *row_cases(device, quick)]
    return sorted(cases, key=lambda case: not case.first)


class Machine:
    """Makes arms out of calls, and times them."""

    def __init__(self, device: str, rounds: int | None, quick: bool) -> None:
        self.device = device
        self.rounds = rounds
        self.quick = quick
        self.on_gpu = device == "cuda"
        self._stream = torch.cuda.Stream() if self.on_gpu else None
        self._is_hot = False

    def prepared(self, prepare: Any, sets: list[tuple[Any, ...]]) -> tuple[list[Any], Any]:
        """Return the calls, each made once, and the result of the first."""
        if not self.on_gpu:
            calls = [prepare(*sets[0])]
            return calls, calls[0]()
        torch.cuda.synchronize()  # the inputs are there
        with torch.cuda.stream(self._stream):  # gradients are computed on the stream of y
            calls = [prepare(*inputs) for inputs in sets]
            result, *_ = [call() for call in calls]
        torch.cuda.synchronize()
        return calls, result

    def timed(self, calls: list[Any], launches: int) -> Callable[[], Any]:
        """Return a function that makes so many calls, on a GPU as a graph."""
        if not self.on_gpu:
            return calls[0]  # type: ignore[no-any-return]
        graph = torch.cuda.CUDAGraph()
        kept: list[Any] = [None] * len(calls)
        with torch.cuda.graph(graph, stream=self._stream):
            for index in range(launches):
                kept[index % len(calls)] = calls[index % len(calls)]()

        def replay(_calls: Any = calls) -> None:  # which have what the graph reads
            graph.replay()

        return replay

    def launches(self, case: Case, sets: int) -> int:
        """Return how many calls a graph has."""
        if not self.on_gpu:
            return 1
        guess = max((case.flops or 0) / FLOPS, case.bytes / BYTES) + 2e-6
        return max(sets, min(int(GRAPH / guess), MOST_LAUNCHES) // sets * sets)

    def compare(self, case: Case, arms: dict[str, Any], seed: int) -> tuple[bench.Comparison, Any]:
        """Time the arms; return what was found and the seconds of work before."""
        warm_up = None  # as long as the mode asks for
        if case.mode == "sustained" and self._is_hot and case.variant != "plain":
            warm_up = HEAT.get(case.kernel, LESS_HEAT)
        if self.quick:
            warm_up = 0.1
        rounds = self.rounds or ROUNDS[case.mode]
        found = bench.compare(
            arms, case.mode, rounds=rounds, cold=False, seed=seed, warm_up=warm_up
        )
        self._is_hot = case.mode == "sustained"
        return found, warm_up


def copies(case: Case, device: str, launches: int) -> Callable[[], Any]:
    """Return the copy as often as the graphs have calls."""
    copy = copy_arm(case.bytes, device)

    def run() -> None:
        for _ in range(launches):
            copy()

    return run


def measure(case: Case, machine: Machine, seed: int) -> dict[str, Any]:
    """Return the row of a case; raise where ours fails or is wrong."""
    make = Inputs(machine.device, seed)
    sets = [case.inputs(make)]
    size = sum(x.numel() * x.element_size() for x in sets[0])
    if machine.on_gpu:
        sets += [case.inputs(make) for _ in range(min(16, -(-BEYOND_L2 // size)) - 1)]
    launches = machine.launches(case, len(sets))
    rows = checked_rows(case, seed)
    expected = case.reference(rows, *sets[0])
    arms: dict[str, Any] = {}
    absent = dict(case.absent)
    error = 0.0
    for name, prepare in case.arms.items():
        try:
            calls, result = machine.prepared(prepare, sets)
            found = error_of(case, rows, result, expected)
            if found > (1 if name == OURS else PEERS_MAY):
                raise WrongError(f"the error is {found:.3g} of what is allowed")
            del result
            arms[name] = machine.timed(calls, launches)
        except Exception as problem:
            if name == OURS:
                raise
            absent[name] = f"{type(problem).__name__}: {problem}".split("\n")[0][:200]
        if name == OURS:
            error = found
    del expected
    if case.flops is None or case.flops / case.bytes < RIDGE:
        arms[COPY] = copies(case, machine.device, launches)
    found, warm_up = machine.compare(case, arms, seed)
    return {
        "name": case.name,
        "kernel": case.kernel,
        "variant": case.variant,
        "dtype": case.dtype,
        "shape": list(case.shape),
        "mode": case.mode,
        "rounds": len(found[OURS].seconds),
        "warm_up_seconds": warm_up,
        "input_sets": len(sets),
        "launches": launches,
        "bytes": case.bytes,
        "flops": case.flops,
        "error": error,
        "arms": {line["name"]: _arm(found, line, launches) for line in found.table()},
        "absent": absent,
    }


def _arm(found: bench.Comparison, line: dict[str, Any], launches: int) -> dict[str, Any]:
    """Return what is kept of an arm: times of a call, and how many times as fast ours is."""
    ours = found.ratio(OURS, to=line["name"])
    kept = {key: line[key] / launches for key in ("us", "us_10%", "us_90%")}
    kept |= {"ours": ours.median, "ours_10%": ours.low, "ours_90%": ours.high}
    return kept | {key: line[key] for key in ("MHz", "W") if key in line}


def text_of(row: dict[str, Any]) -> str:
    """Return a row in a line: our rate, and how many times as fast ours is as each peer."""
    seconds = row["arms"][OURS]["us"] / 1e6
    rate = f"{row['bytes'] / seconds / 1e12:.2f} TB/s"
    if row["flops"]:
        rate += f" {row['flops'] / seconds / 1e12:.0f} TFLOP/s"
    peers = "  ".join(
        f"{name} {arm['ours']:.3f} ({arm['ours_10%']:.3f}..{arm['ours_90%']:.3f})"
        for name, arm in row["arms"].items()
        if name != OURS
    )
    return f"{row['name']:52s} {seconds * 1e6:10.2f} us {rate:24s} {peers}"


def run(cases: list[Case], arguments: Any, record: dict[str, Any]) -> None:
    """Measure the cases into the record, as far as time goes."""
    started = time.monotonic()
    limit = arguments.minutes * 60
    if arguments.jobs > 0 and arguments.device == "cuda" and cases:
        from kernel_warm import build_all

        names = [case.name for case in cases]
        taken = build_all(names, arguments.device, arguments.quick, arguments.jobs, limit * 0.4)
        record["build_seconds"] = round(taken, 1)
        print(f"built in {taken:.1f} s", flush=True)
    machine = Machine(arguments.device, arguments.rounds, arguments.quick)
    if machine.on_gpu:
        gc.freeze()  # a capture collects garbage; what is imported is none
    for case in cases:
        if time.monotonic() - started > limit - 5:
            record["left_out"].append(case.name)
            continue
        try:
            row = measure(case, machine, arguments.seed)
        except Exception as error:
            record["failed"][case.name] = f"{type(error).__name__}: {error}"[:400]
            print(f"FAILED: {case.name}", file=sys.stderr)
            traceback.print_exc()
        else:
            record["rows"].append(row)
            print(text_of(row), flush=True)
        if machine.on_gpu:
            gc.collect()
            torch.cuda.empty_cache()
        record["seconds"] = round(time.monotonic() - started, 1)
        if arguments.json:  # now, because a run may be stopped
            kernel_record.write(record, arguments.json)
    if arguments.json:
        kernel_record.write(record, arguments.json)


def part_of(text: str) -> tuple[int, int]:
    """Read `1/2`."""
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not match or int(match[1]) > int(match[2]):
        raise argparse.ArgumentTypeError(f"a part is 1/2 or 2/2, not {text!r}")
    return int(match[1]), int(match[2])


def parsed(given: list[str] | None) -> Any:
    """Return the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="of the names of cases")
    parser.add_argument("--list", action="store_true", help="the names, and nothing else")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller shapes")
    parser.add_argument("--minutes", type=float, default=8.0, help="that a run may take")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="I/N")
    parser.add_argument("--rounds", type=int, help="of each row")
    parser.add_argument("--seed", type=int, default=None, help="of the inputs; drawn by default")
    parser.add_argument("--device", choices=("cuda", "cpu"))
    parser.add_argument("--jobs", type=int, default=min(12, (os.cpu_count() or 1) - 1))
    parser.add_argument("--json", type=Path, metavar="FILE", help="the record")
    parser.add_argument("--merge", type=Path, nargs="+", metavar="FILE", help="records of parts")
    arguments = parser.parse_args(given)
    if arguments.device is None:
        arguments.device = "cuda" if torch.cuda.is_available() else "cpu"
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(1 << 31)
    return arguments


def main(given: list[str] | None = None) -> int:
    """Run the bench."""
    arguments = parsed(given)
    if arguments.merge:
        records = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.merge]
        try:
            record = kernel_record.merged(records)
        except kernel_record.RecordError as error:
            print(error, file=sys.stderr)
            return 1
        kernel_record.write(record, arguments.json)
        return 0
    cases = [
        case
        for case in all_cases(arguments.device, arguments.quick)
        if re.search(arguments.only, case.name)
    ]
    index, count = arguments.part
    cases = cases[index - 1 :: count]
    if arguments.list:
        print("\n".join(case.name for case in cases))
        return 0
    record = kernel_record.new_record(
        torch, arguments.device, quick=arguments.quick, seed=[arguments.seed]
    )
    run(cases, arguments, record)
    if record["left_out"]:
        print(f"no time for {len(record['left_out'])} of {len(cases)} cases", file=sys.stderr)
    return 1 if record["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
