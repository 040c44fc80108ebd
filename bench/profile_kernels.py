# SPDX-License-Identifier: Apache-2.0
"""What bounds a kernel: Nsight Compute's counters of ours and of a peer, as a short table.

    python bench/profile_kernels.py [--only REGEX] [--arms pyptx cuBLAS] [--csv FILE]
    python bench/profile_kernels.py --read FILE [--into RECORD]    the counters that were kept,
                                                                   into a record of kernels.py

The cases are those of bench/kernels.py. Each arm is called twice, and once more while ncu counts;
the clocks are left as they are. `dram`, `L2` and `SM` are parts of the machine's peak, `tensor` is
that of the tensor pipe while an SM is active. A stall is how many cycles a warp waits for
it between two instructions; the table has the longest three.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import kernel_record

CHOSEN = (
    r"matmul plain bf16 (2048|4096|8192)x.*sustained"
    r"|matmul model bf16 (1x128256|64x57344|512x28672)"
    r"|(rms_norm|layer_norm|softmax|cross_entropy) (forward|loss and gradient) "
    r"(bf16|f32) \d+x(4096|65536) "
    r"|(rms|layer)_norm backward bf16 \d+x(1024|16384|65536) "
    r"|(softmax forward|cross_entropy loss and gradient) bf16 \d+x50257 "
)
SECTIONS = (
    "SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "WarpStateStats",
    "LaunchStats", "Occupancy",
)  # fmt: skip
RANGE = "pyptx-bench"
TIME = "gpu__time_duration.sum"
COLUMNS = {
    "dram %": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "L2 %": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM %": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "regs": "launch__registers_per_thread",
    "warps %": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
TENSOR = re.compile(r"pipe_tensor.*pct_of_peak_sustained_active")
STALL = re.compile(r"issue_stalled_(\w+?)_per_(?:issue_active|warp_active)\.\w+$")
SECONDS = {"ns": 1e-3, "us": 1.0, "usecond": 1.0, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3}


class Kernel(NamedTuple):
    """The counters of one launch."""

    of: str  # the case and the arm, "" where ncu did not say
    name: str
    values: dict[str, str]
    units: dict[str, str]

    def number(self, metric: str) -> float | None:
        """Return a counter, None where there is none."""
        try:
            return float(self.values.get(metric, "").replace(",", ""))
        except ValueError:
            return None

    def microseconds(self) -> float | None:
        """Return how long it took."""
        time = self.number(TIME)
        return None if time is None else time * SECONDS.get(self.units.get(TIME, ""), 1.0)

    def tensor(self) -> float | None:
        """Return how busy the tensor pipe was."""
        found = [self.number(metric) for metric in self.values if TENSOR.search(metric)]
        return max((each for each in found if each is not None), default=None)

    def stalls(self, most: int = 3) -> list[tuple[str, float]]:
        """Return the longest stalls."""
        found: dict[str, float] = {}
        for metric in self.values:
            value = self.number(metric)
            if (match := STALL.search(metric)) and value is not None:
                found[match[1]] = max(value, found.get(match[1], 0.0))
        return sorted(found.items(), key=lambda item: -item[1])[:most]


def kernels_of(text: str) -> Iterator[Kernel]:
    """Yield the launches of `ncu --csv --page raw`: names, units, then a line for each."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return
    names, units, *rest = csv.reader(io.StringIO("\n".join(lines[start:])))
    for cells in rest:
        if len(cells) != len(names):
            continue
        marked = re.search(rf"{RANGE}\|([^|]+\|[^|]+)\|", "\n".join(cells))
        values = dict(zip(names, cells, strict=True))
        of = marked[1].replace("|", ", ") if marked else ""
        yield Kernel(of, values["Kernel Name"], values, dict(zip(names, units, strict=True)))


def cells(kernel: Kernel) -> dict[str, str]:
    """Return what is kept of a launch: a line of the table by its columns."""
    numbers = {name: kernel.number(metric) for name, metric in COLUMNS.items()}
    numbers = {"us": kernel.microseconds(), **numbers, "tensor %": kernel.tensor()}
    return {
        "of": kernel.of or "-",
        "kernel": kernel.name[:32],
        **{name: "-" if value is None else f"{value:.1f}" for name, value in numbers.items()},
        "stalls (cycles)": ", ".join(f"{name} {value:.1f}" for name, value in kernel.stalls()),
    }


def table(kernels: list[Kernel]) -> str:
    """Return the launches as text."""
    rows = list(map(cells, kernels))
    heading = list(rows[0])
    lines = [heading, *(list(row.values()) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(heading))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def call_all(only: str, arms: list[str], quick: bool, device: str) -> None:
    """Make the calls that are counted, each in a range of its own."""
    import torch
    from kernel_cases import COPY, Inputs, copy_arm

    from kernels import all_cases

    counted = torch.cuda.cudart() if device == "cuda" else None
    for case in all_cases(device, quick):
        if not re.search(only, case.name) or case.mode != "sustained":
            continue
        inputs = case.inputs(Inputs(device, 1))
        for arm in arms:
            if arm == COPY:
                call = copy_arm(case.bytes, device)
            elif arm in case.arms:
                call = case.arms[arm](*inputs)
            else:
                continue
            call()
            call()
            if counted is None:
                print(f"{case.name}, {arm}")
                continue
            torch.cuda.synchronize()
            counted.cudaProfilerStart()
            # Not a range of this thread: gradients are computed on another one.
            mark = torch.cuda.nvtx.range_start(f"{RANGE}|{case.name}|{arm}|")
            call()
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_end(mark)
            counted.cudaProfilerStop()
        if counted is not None:
            del inputs, call
            torch.cuda.empty_cache()


def counters(arguments: Any) -> str:
    """Return what ncu says of the calls."""
    command = ["ncu", "--csv", "--page", "raw", "--nvtx", "--profile-from-start", "off"]
    command += ["--clock-control", "none", "--target-processes", "all"]
    for section in SECTIONS:
        command += ["--section", section]
    command += [sys.executable, __file__, "--calls", "--only", arguments.only]
    command += ["--arms", *arguments.arms, *(["--quick"] if arguments.quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)
    return done.stdout


def main(given: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=CHOSEN, metavar="REGEX", help="of the names of cases")
    parser.add_argument("--arms", nargs="+", default=["pyptx", "cuBLAS"])
    parser.add_argument("--quick", action="store_true", help="smaller matrices")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="where the counters are kept")
    parser.add_argument("--read", type=Path, metavar="FILE", help="counters that were kept")
    parser.add_argument("--into", type=Path, metavar="FILE", help="the record that gets them")
    parser.add_argument("--calls", action="store_true", help="the calls, without ncu")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    arguments = parser.parse_args(given)
    if arguments.calls:
        call_all(arguments.only, arguments.arms, arguments.quick, arguments.device)
        return 0
    if arguments.read:
        text = arguments.read.read_text(encoding="utf-8")
    elif shutil.which("ncu") is None:
        print("ncu (Nsight Compute) is not on the PATH", file=sys.stderr)
        return 2
    else:
        text = counters(arguments)
        if arguments.csv:
            arguments.csv.write_text(text, encoding="utf-8")
    found = list(kernels_of(text))
    if not found:
        print("ncu counted no kernel", file=sys.stderr)
        return 1
    print(table(found))
    if arguments.into:
        record = json.loads(arguments.into.read_text(encoding="utf-8"))
        kernel_record.write({**record, "counters": list(map(cells, found))}, arguments.into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
