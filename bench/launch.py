# SPDX-License-Identifier: Apache-2.0
"""Host time of one call, every arm interleaved in one run: ours against named peers.

    python bench/launch.py [--rounds 21] [--calls 200] [--only REGEX] [--list] [--json FILE]

Each round times every arm with each of its peers, the two right after each other, all pairs and the
order within a pair drawn anew, so that none profits or suffers from what ran before it, and the
host's fast and slow phases, which last longer than a pair, fall on both. `--calls` calls in a row
without waiting for the GPU, then it waits. That is burst host time; it says nothing of GPU speed,
as long as the calls fit the GPU's queue of about a thousand launches, behind which the host waits.
Arms that change their tensors or scalars at every call have them prepared before the clock starts.
The garbage collector rests while it runs.

The table has, for each arm, the median of the time per call with its 10th and 90th percentile, and
a line for each peer: the median of the pairs' ratios and their percentiles, the goal, where there
is one, and whether the median meets it. The last column compares the median with that of the bare
launch of vector_add.
`bare` arms are cuLaunchKernelEx in a C++ loop, of the very launch they are named after.

Without a GPU ours runs the emulator, the peers are the CPU paths of the frameworks, and there are
no goals. An arm that fails is reported with its error and left out; the exit status then is 1.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import re
import statistics
import sys
import traceback
from pathlib import Path
from typing import Any

from arms import Arm, LeftOutError, Machine, Run

FLOOR = "bare vector_add"
NAME = 48  # columns for the name of an arm
DEFAULTS = {True: (21, 200), False: (5, 20)}  # rounds and calls, on a GPU and without


def find_machine() -> Machine:
    """Return what the arms run on."""
    try:
        import torch
    except ModuleNotFoundError:
        return Machine(None, False)
    return Machine(torch, torch.cuda.is_available())


def all_arms(machine: Machine) -> dict[str, list[Arm]]:
    """Return the arms by what they are about."""
    import arms_calls
    import arms_examples
    import arms_kernels
    import arms_ways

    jax = {"jax.jit": arms_ways.jax_arms(machine)}
    if machine.torch is None:
        print("torch is not installed: only the arms of JAX are left", file=sys.stderr)
        return jax
    subjects = arms_examples.subjects(machine)
    add = subjects["vector_add"]
    return {
        "the examples": arms_examples.arms(subjects),
        "kernels that read things": arms_calls.captured_arms(machine),
        "changing tensors": arms_calls.changing_arms(subjects),
        "scalars and template values": arms_calls.scalar_arms(machine),
        "the library": arms_kernels.arms(machine),
        "threads": arms_ways.thread_arms(add),
        "torch.compile": arms_ways.compiled_arms(subjects),
        "CUDA graphs": arms_ways.graph_arms(add),
        **jax,
    }


def selected(arms: list[Arm], only: str) -> list[Arm]:
    """Return the arms whose names match, the peers that these need, and the floor."""
    by_name = {arm.name: arm for arm in arms}
    wanted = {arm.name for arm in arms if re.search(only, arm.name)}
    peers = {peer.peer for name in wanted for peer in by_name[name].against}
    keep = wanted | peers | {FLOOR}
    return [arm for arm in arms if arm.name in keep]


class Bench:
    """The arms that are running, their samples, and why the others are not."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.samples: dict[str, list[float]] = {}
        self.ratios: dict[tuple[str, str], list[float]] = {}
        self.left_out: dict[str, str] = {}
        self.failed: dict[str, str] = {}

    def fail(self, name: str, error: Exception) -> None:
        """Report an arm that does not work, and go on without it."""
        self.runs.pop(name, None)
        self.samples.pop(name, None)
        self.failed[name] = f"{type(error).__name__}: {error}"
        print(f"FAILED: {name}", file=sys.stderr)
        traceback.print_exception(error, file=sys.stderr)

    def make(self, arms: list[Arm], calls: int) -> None:
        """Build, check and warm up."""
        for arm in arms:
            try:
                run = arm.make()
                run(calls)
            except LeftOutError as reason:
                self.left_out[arm.name] = str(reason)
            except Exception as error:
                self.fail(arm.name, error)
            else:
                self.runs[arm.name] = run
                self.samples[arm.name] = []
        for reason in dict.fromkeys(self.left_out.values()):
            names = [name for name, why in self.left_out.items() if why == reason]
            print(f"left out, {reason}: {'; '.join(names)}", file=sys.stderr)

    def time(self, arms: list[Arm], rounds: int, calls: int) -> None:
        """Time every arm with each of its peers once a round."""
        pairs = [(arm.name, peer.peer) for arm in arms for peer in arm.against]
        paired = {name for pair in pairs for name in pair}
        pairs += [(arm.name, "") for arm in arms if arm.name not in paired]
        for _ in range(rounds):
            random.shuffle(pairs)
            for name, peer in pairs:
                if name not in self.runs:
                    continue
                both = [name, peer] if peer in self.runs else [name]
                random.shuffle(both)
                taken = {each: self._timed(each, calls) for each in both}
                if len(both) == 2 and None not in taken.values():
                    found = self.ratios.setdefault((name, peer), [])
                    found.append(taken[name] / taken[peer])  # type: ignore[operator]

    def _timed(self, name: str, calls: int) -> float | None:
        gc.disable()
        try:
            taken = self.runs[name](calls)
        except Exception as error:
            self.fail(name, error)
            return None
        finally:
            gc.enable()
        self.samples[name].append(taken)
        return taken


def spread(values: list[float]) -> tuple[float, float, float]:
    """Return the median, the 10th and the 90th percentile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return statistics.median(values), tenths[0], tenths[-1]


def results(groups: dict[str, list[Arm]], bench: Bench) -> list[dict[str, Any]]:
    """Return everything about the arms that ran, in the order of the table."""
    samples = bench.samples
    floor = statistics.median(samples[FLOOR]) if samples.get(FLOOR) else None
    rows = []
    for group, arms in groups.items():
        for arm in arms:
            if not samples.get(arm.name):
                continue
            against = []
            for peer in arm.against:
                row: dict[str, Any] = {"peer": peer.peer, "goal": peer.goal}
                ratios = bench.ratios.get((arm.name, peer.peer))
                if ratios:
                    row["ratio"] = spread(ratios)
                    row["ratios"] = ratios
                    row["met"] = None if peer.goal is None else row["ratio"][0] <= peer.goal
                against.append(row)
            seconds = spread(samples[arm.name])
            rows.append(
                {
                    "group": group,
                    "name": arm.name,
                    "seconds": seconds,
                    "samples": samples[arm.name],
                    "against": against,
                    "to_floor": None if floor is None else seconds[0] / floor,
                }
            )
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print a line for each arm and each of its peers."""
    print(
        f"{'arm':{NAME}} {'us/call':>9} {'10%..90%':>17}  {'peer':{NAME}} {'ratio':>7} "
        f"{'10%..90%':>15} {'goal':>5} {'met':>3} {'/floor':>7}"
    )
    group = ""
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            print(f"--- {group}")
        median, low, high = (seconds * 1e6 for seconds in row["seconds"])
        first = f"{row['name']:{NAME}} {median:9.2f} {f'{low:.2f}..{high:.2f}':>17}"
        last = "" if row["to_floor"] is None else f"{row['to_floor']:.2f}"
        for peer in row["against"] or [{"peer": "", "goal": None}]:
            ratio, bounds, goal, met = "-" if peer["peer"] else "", "", "", ""
            if "ratio" in peer:
                ratio = f"{peer['ratio'][0]:.2f}"
                bounds = f"{peer['ratio'][1]:.2f}..{peer['ratio'][2]:.2f}"
            if peer["goal"] is not None:
                goal = f"{peer['goal']:.2f}"
                met = {True: "yes", False: "NO", None: "?"}[peer.get("met")]
            held = f"{peer['peer']:{NAME}} {ratio:>7} {bounds:>15} {goal:>5} {met:>3}"
            print(f"{first}  {held} {last:>7}".rstrip())
            first, last = " " * len(first), ""


def print_goals(rows: list[dict[str, Any]]) -> None:
    """Print how many goals are met."""
    met = [peer.get("met") for row in rows for peer in row["against"] if peer["goal"] is not None]
    if met:
        unknown = met.count(None)
        print(f"goals met: {met.count(True)} of {len(met)}", f"({unknown} unknown)" * bool(unknown))


def description(machine: Machine) -> dict[str, str]:
    """Return what the numbers depend on."""
    import pyptx

    found = {"python": platform.python_version(), "pyptx": getattr(pyptx, "__version__", "")}
    for name in ("torch", "jax", "triton", "cupy"):
        module = sys.modules.get(name)
        if hasattr(module, "__version__"):
            found[name] = str(module.__version__)
    found["device"] = machine.torch.cuda.get_device_name() if machine.on_gpu else "cpu, emulator"
    return found


def arguments(machine: Machine) -> argparse.Namespace:
    """Read the command line."""
    rounds, calls = DEFAULTS[machine.on_gpu]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--calls", type=int, default=calls)
    parser.add_argument("--only", default="", help="arms whose name this expression finds")
    parser.add_argument("--list", action="store_true", help="print the names and leave")
    parser.add_argument("--json", type=Path, help="write everything, all samples too")
    return parser.parse_args()


def main() -> int:
    """Measure and print."""
    machine = find_machine()
    options = arguments(machine)
    groups = all_arms(machine)
    chosen = selected([arm for arms in groups.values() for arm in arms], options.only)
    if options.list:
        print("\n".join(arm.name for arm in chosen))
        return 0
    bench = Bench()
    bench.make(chosen, options.calls)
    gc.collect()
    gc.freeze()
    bench.time(chosen, options.rounds, options.calls)
    rows = results(groups, bench)
    about = description(machine)
    print("burst host time per call;", ", ".join(f"{key} {value}" for key, value in about.items()))
    print(f"{options.rounds} rounds of {options.calls} calls; ratios of pairs, their median")
    print_table(rows)
    print_goals(rows)
    for name, error in bench.failed.items():
        print(f"FAILED: {name}: {error.splitlines()[0]}", file=sys.stderr)
    if options.json is not None:
        found = {
            "triples": "median, 10th percentile, 90th percentile; times in seconds",
            "about": about,
            "rounds": options.rounds,
            "calls": options.calls,
            "arms": rows,
            "left_out": bench.left_out,
            "failed": bench.failed,
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
