# SPDX-License-Identifier: Apache-2.0
"""Every kernel of pyptx.kernels under compute-sanitizer: memcheck, racecheck, synccheck, initcheck.

    python tests/gpu/sanitize.py [--tools memcheck racecheck] [--only REGEX] [--log FOLDER]
    python tests/gpu/sanitize.py --calls --device cpu      the calls alone, on the emulator

The calls run once without a tool, which compiles them, and then under all tools at a time. The
status is 1 where a result is wrong or a tool reports anything, 2 without compute-sanitizer.

initcheck is not asked about products: it takes memory that only the copy engine stored for memory
which nobody wrote, and says so where the results, which are right, are copied to the host.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
LEFT_OUT = {"initcheck": "matmul"}  # a part of the names of calls, by tool
REPORTED = 9  # the exit status of a tool that found something
SUMMARY = re.compile(r"=+ (ERROR SUMMARY|RACECHECK SUMMARY): (.*)")
DONE = "every call is right"


class Found(NamedTuple):
    """What became of a tool's run."""

    tool: str
    seconds: float
    status: int | None  # None: it took too long
    summary: str

    @property
    def is_clean(self) -> bool:
        """Whether it ran to its end and found nothing."""
        return self.status == 0 and summary_is_clean(self.summary)


def summary_is_clean(text: str) -> bool:
    """Whether a summary counts nothing: warnings of racecheck have no exit status of their own."""
    counts = re.findall(r"(\d+) (?:errors?|hazards?|warnings?)", text)
    return bool(counts) and not any(map(int, counts))


def summary_of(log: str) -> str:
    """Return the summary of a log, or that there is none."""
    found = SUMMARY.findall(log)
    return found[-1][1] if found else "no summary: the tool did not end"


def sanitizer() -> str | None:
    """Return where compute-sanitizer is."""
    places = [os.environ.get("COMPUTE_SANITIZER"), shutil.which("compute-sanitizer")]
    places += [str(path) for path in Path("/usr/local").glob("cuda*/bin/compute-sanitizer")]
    return next((place for place in places if place and Path(place).exists()), None)


def run_calls(device: str, only: str, without: str) -> int:
    """Make the calls; return 1 where one fails."""
    from library_calls import calls

    failed = 0
    for name, call in calls(small=device == "cpu"):
        if not re.search(only, name) or (without and without in name):
            continue
        try:
            call(device)
        except Exception:
            failed += 1
            print(f"FAILED: {name}", file=sys.stderr)
            traceback.print_exc()
    print(f"{failed} calls failed" if failed else DONE, flush=True)
    return 1 if failed else 0


def under(tool: str, program: str, arguments: Any) -> Found:
    """Run the calls under a tool."""
    command = [
        program, "--tool", tool, "--error-exitcode", str(REPORTED), "--print-limit", "30",
        sys.executable, __file__, "--calls", "--only", arguments.only,
        "--without", LEFT_OUT.get(tool, ""),
    ]  # fmt: skip
    # Each tensor an allocation of its own: what is beyond it is nobody's.
    env = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    log = arguments.log / f"{tool}.log"
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        try:
            done = subprocess.run(
                command, stdout=file, stderr=subprocess.STDOUT, env=env, check=False,
                timeout=arguments.seconds,
            )  # fmt: skip
            status: int | None = done.returncode
        except subprocess.TimeoutExpired:
            status = None
    text = log.read_text(encoding="utf-8", errors="replace")
    return Found(tool, time.monotonic() - started, status, summary_of(text))


def main(given: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("--only", default="", metavar="REGEX", help="of the names of calls")
    parser.add_argument("--without", default="", metavar="TEXT", help="calls named so are left out")
    parser.add_argument("--log", type=Path, default=Path("build/sanitize"), metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=220.0, help="that a tool may take")
    parser.add_argument("--calls", action="store_true", help="the calls, without a tool")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    arguments = parser.parse_args(given)
    if arguments.calls:
        return run_calls(arguments.device, arguments.only, arguments.without)
    program = sanitizer()
    if program is None:
        print("compute-sanitizer is not installed; COMPUTE_SANITIZER can name it", file=sys.stderr)
        return 2
    arguments.log.mkdir(parents=True, exist_ok=True)
    plain = subprocess.run(
        [sys.executable, __file__, "--calls", "--only", arguments.only], check=False
    )
    if plain.returncode:
        return 1
    with ThreadPoolExecutor(len(arguments.tools)) as pool:
        results = list(pool.map(lambda tool: under(tool, program, arguments), arguments.tools))
    for found in results:
        verdict = "clean" if found.is_clean else f"status {found.status}"
        print(f"{found.tool:10s} {found.seconds:6.1f} s  {verdict:10s} {found.summary}")
        if not found.is_clean:
            text = (arguments.log / f"{found.tool}.log").read_text(errors="replace")
            print("\n".join(text.splitlines()[-60:]))
    return 0 if all(found.is_clean for found in results) else 1


if __name__ == "__main__":
    sys.exit(main())
