# SPDX-License-Identifier: Apache-2.0
"""Reading and verifying PTX: ours against ptxas on the same files, interleaved in one run.

    python bench/verify.py [--rounds 5] [--architecture sm_100a]

The files are those of tests/corpus for one architecture, compiled when they are not there yet. Ours
is `syntax_bench` (one process, one core, best of several passes); its "parse + verify" is the whole
of what `pyptx.verify` does. The peer is ptxas with `-arch=compute_XX`, which parses and checks and
generates nothing: its CPU time over the files, one after the other, less the time it takes to start
(an empty module).
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "corpus"))

import corpus  # noqa: E402


def find_bench() -> Path | None:
    """Return the newest syntax_bench among the build folders."""
    found = ROOT.glob("build/*/bench/syntax_bench")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def cpu_seconds(command: list[str]) -> float:
    """Return the CPU time of a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def our_rates(program: Path, files: list[Path]) -> dict[str, float]:
    """MB/s by what is done, as syntax_bench prints them."""
    command = [str(program), "--seconds", "0.3", *map(str, files)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^(\S.*?)\s+([\d.]+) MB/s$", text, flags=re.MULTILINE)
    return {name: float(rate) for name, rate in found}


def their_rate(files: list[Path], architecture: str, empty: Path) -> float:
    """MB/s of ptxas, parsing only."""
    arch = architecture.replace("sm_", "compute_")
    ptxas = str(corpus.TOOLKIT / "bin" / "ptxas")

    def parse(path: Path) -> float:
        out = str(empty.with_suffix(".out"))
        return cpu_seconds([ptxas, f"-arch={arch}", str(path), "-o", out])

    start = min(parse(empty) for _ in range(5))
    taken = sum(max(parse(path) - start, 1e-6) for path in files)
    return sum(path.stat().st_size for path in files) / 1e6 / taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--architecture", default="sm_100a", choices=corpus.ARCHITECTURES)
    options = parser.parse_args()
    program = find_bench()
    if program is None or not corpus.is_available():
        print("bench/verify.py: needs syntax_bench and the CUDA wheels", file=sys.stderr)
        return 1
    cases = [
        case
        for case in corpus.cases()
        if case.architecture == options.architecture and case.mode in ("plain", "rdc")
    ]
    files = [corpus.compile_case(case) for case in cases]
    rounds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.ptx"
        empty.write_text(
            f".version 9.4\n.target {options.architecture}\n.address_size 64\n"
            ".visible .entry k() { ret; }\n"
        )
        for _ in range(options.rounds):
            for name, rate in our_rates(program, files).items():
                rounds.setdefault(name, []).append(rate)
            theirs = their_rate(files, options.architecture, empty)
            rounds.setdefault("ptxas, parsing only", []).append(theirs)
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files)} files for {options.architecture}, {size / 1e6:.1f} MB; median of rounds:")
    for name, rates in rounds.items():
        print(f"  {name:<20} {statistics.median(rates):8.1f} MB/s")
    pairs = zip(rounds["parse + verify"], rounds["ptxas, parsing only"], strict=True)
    print(f"  parse + verify is {statistics.median(a / b for a, b in pairs):.1f} times ptxas")
    return 0


if __name__ == "__main__":
    sys.exit(main())
