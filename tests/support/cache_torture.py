# SPDX-License-Identifier: Apache-2.0
"""The disk cache under torture: processes that assemble, damage entries and are killed, at once.

A program, run by test_cubin_cache.py for a few seconds and by `make cache-torture` for minutes:

    python tests/support/cache_torture.py FOLDER
        [--seconds 5] [--processes 32] [--seed 0] [--no-damage]

Every cubin that a process gets is compared with the one that was assembled without a cache. The
report is one JSON object: how often what was done, and what went wrong. The processes are forked
after the package was imported. The assembler is opened by each: it has threads, which a fork leaves
behind, and a lock that one of them held would never be free.
"""

from __future__ import annotations

import argparse
import dataclasses
import errno
import json
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from pyptx import _core, _toolchain

TARGET = "sm_90a"
KILL_SHARE = 0.5  # of the processes; the others end by themselves
LIFE_SECONDS = 0.6  # of one process, on average
KILLED = -1.0
# Holds about half of the entries, so that every process evicts.
SIZE_LIMIT = 64 << 10

TEXT = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a)
{{
    .reg .b32 %r<{count}>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [a];
    mov.u32 %r0, %tid.x;
{body}
    st.global.u32 [%rd1], %r{last};
    ret;
}}
"""


def make_text(index: int) -> str:
    """Return a kernel of its own for each number, of some hundred to some thousand bytes."""
    steps = 4 + 40 * (index % 4)
    body = "\n".join(
        f"    mad.lo.u32 %r{i + 1}, %r{i}, {index * 1000 + i + 3}, %r0;" for i in range(steps)
    )
    return TEXT.format(count=steps + 1, body=body, last=steps)


JOBS = [(make_text(i), flags) for i in range(6) for flags in ([], ["-O1"])]


@dataclasses.dataclass
class Worker:
    """One forked process: its work until the deadline, or until it is killed."""

    folder: Path
    expected: list[bytes]
    dice: random.Random
    damages: bool

    def run(self, deadline: float, report: int) -> int:
        """Return the exit status; each good cubin is a byte in the pipe."""
        while time.monotonic() < deadline:
            if self.damages and self.dice.random() < 0.25:
                self.damage()
            index = self.dice.randrange(len(JOBS))
            text, flags = JOBS[index]
            cubin, _, _ = _core.assemble(text, TARGET, flags)
            if cubin != self.expected[index]:
                return 3
            os.write(report, b"c")
        return 0

    def damage(self) -> None:
        """Do to a random entry what a broken disk or a careless program might."""
        try:
            files = sorted(self.folder.glob("*.cubin"))
            if not files:
                return
            file, other = self.dice.choice(files), self.dice.choice(files)
            self.dice.choice(
                [self.truncate, self.flip, self.flip_by_rename, self.swap, self.grow, self.remove]
            )(file, other)
        except (OSError, ValueError) as error:
            # Another process removed or emptied it, or the disk is full.
            if isinstance(error, OSError) and error.errno not in (
                errno.ENOENT,
                errno.ENOSPC,
                errno.EROFS,
                errno.EFBIG,
            ):
                raise

    def truncate(self, file: Path, _other: Path) -> None:
        """Cut the end off."""
        os.truncate(file, self.dice.randrange(file.stat().st_size))

    def flipped(self, file: Path) -> bytes:
        """Return its bytes with one bit changed."""
        if file.stat().st_size > SIZE_LIMIT:
            raise ValueError("somebody made it endless")
        data = bytearray(file.read_bytes())
        data[self.dice.randrange(len(data))] ^= 1 << self.dice.randrange(8)
        return bytes(data)

    def flip(self, file: Path, _other: Path) -> None:
        """Change a bit in place, under the eyes of readers."""
        file.write_bytes(self.flipped(file))

    def flip_by_rename(self, file: Path, _other: Path) -> None:
        """Change a bit in a file that then takes the entry's place at once."""
        data = self.flipped(file)
        mine = file.with_suffix(f".{os.getpid()}.damage")
        try:
            mine.write_bytes(data)
            mine.chmod(0o600)
            mine.rename(file)
        finally:
            mine.unlink(missing_ok=True)

    def swap(self, file: Path, other: Path) -> None:
        """Give an entry the name of another: good bytes of the wrong kernel."""
        if file != other:
            mine = file.with_suffix(f".{os.getpid()}.damage")
            mine.unlink(missing_ok=True)
            mine.hardlink_to(other)
            mine.rename(file)

    def grow(self, file: Path, _other: Path) -> None:
        """Make it larger than any memory, with a hole."""
        os.truncate(file, 1 << 36)

    def remove(self, file: Path, _other: Path) -> None:
        """Take it away."""
        file.unlink()


def assembled() -> list[bytes]:
    """Return the cubins of the jobs, made without a cache."""
    _toolchain.announce_folders()
    return [bytes(_core.assemble(text, TARGET, flags, use_cache=False)[0]) for text, flags in JOBS]


def assembled_elsewhere() -> list[bytes]:
    """Return them from a process of their own."""
    code = "import sys, pickle, cache_torture as t; pickle.dump(t.assembled(), sys.stdout.buffer)"
    places = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": places},
    )
    made: list[bytes] = pickle.loads(done.stdout)
    return made


class Torture:
    """Keeps a number of workers busy, and kills them at random."""

    def __init__(self, folder: Path, processes: int, seed: int, *, damages: bool) -> None:
        self.folder = folder
        self.processes = processes
        self.damages = damages
        self.dice = random.Random(seed)
        self.count = Counter[str]()
        self.problems: list[str] = []
        self.live: dict[int, float] = {}  # process: when we kill it
        self.expected = assembled_elsewhere()
        self.report, self.report_end = os.pipe()
        os.set_blocking(self.report, False)

    def start(self) -> None:
        """Fork one worker."""
        seed = self.dice.randrange(1 << 30)
        now = time.monotonic()
        life = self.dice.uniform(0, 2 * LIFE_SECONDS)
        is_victim = self.dice.random() < KILL_SHARE
        process = os.fork()
        if process != 0:
            self.live[process] = now + self.dice.uniform(0, life) if is_victim else math.inf
            self.count["started"] += 1
            return
        status = 4
        try:
            worker = Worker(self.folder, self.expected, random.Random(seed), self.damages)
            status = worker.run(now + life, self.report_end)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def collect(self) -> None:
        """Count what has ended; anything but our own kill or a clean end is a problem."""
        while self.live:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return
            was_killed = self.live.pop(process) == KILLED
            if os.WIFSIGNALED(status):
                number = os.WTERMSIG(status)
                self.count["killed"] += 1
                if not (was_killed and number == signal.SIGKILL):
                    self.problems.append(f"a process was ended by signal {number}")
            elif os.WEXITSTATUS(status) == 3:
                self.problems.append("a process got a wrong cubin")
            elif os.WEXITSTATUS(status) != 0:
                self.problems.append(f"a process ended with {os.WEXITSTATUS(status)}")

    def read_counts(self) -> None:
        """Take what the workers have written into the pipe."""
        try:
            while data := os.read(self.report, 65536):
                self.count["cubins"] += data.count(b"c")
                if len(data) < 65536:
                    return
        except BlockingIOError:
            return

    def run(self, seconds: float) -> None:
        """Torture for so long, then wait for all."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.problems:
            while len(self.live) < self.processes:
                self.start()
            time.sleep(self.dice.uniform(0, 0.004))
            for process, due in self.live.items():
                if due <= time.monotonic() and due != KILLED:
                    self.live[process] = KILLED
                    os.kill(process, signal.SIGKILL)
            self.collect()
            self.read_counts()
        while self.live:
            self.collect()
            self.read_counts()
            time.sleep(0.01)


def check_rest(folder: Path, *, is_writable: bool) -> list[str]:
    """What is wrong with the folder once all is quiet."""
    cache = _core.CubinCache(str(folder), SIZE_LIMIT)
    _, size, temporaries = cache.usage()
    problems = []
    if temporaries and is_writable:
        problems.append(f"{temporaries} temporaries of killed processes are left")
    # Damage makes entries larger than they were written; writers count only what is there.
    for file in folder.glob("*.cubin"):
        if file.stat().st_size > SIZE_LIMIT:
            file.unlink()
            size = cache.usage()[1]
    if size > 2 * SIZE_LIMIT:
        problems.append(f"the entries have {size} bytes, the limit is {SIZE_LIMIT}")
    return problems


def main() -> int:
    """Torture the folder that the arguments name."""
    parser = argparse.ArgumentParser(description="the disk cache under torture")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-damage", action="store_true")
    parser.add_argument("--read-only", action="store_true", help="nothing can be written there")
    asked = parser.parse_args()
    os.environ["PYPTX_CACHE_DIR"] = str(asked.folder)
    os.environ["PYPTX_CACHE_SIZE"] = str(SIZE_LIMIT)
    os.environ.pop("PYPTX_CACHE", None)
    _toolchain.announce_folders()
    damages = not (asked.no_damage or asked.read_only)
    torture = Torture(asked.folder, asked.processes, asked.seed, damages=damages)
    torture.run(asked.seconds)
    torture.problems += check_rest(asked.folder, is_writable=not asked.read_only)
    entries = len(list(asked.folder.glob("*.cubin")))
    print(json.dumps({**torture.count, "entries": entries, "problems": torture.problems}))
    return 1 if torture.problems else 0


if __name__ == "__main__":
    sys.exit(main())
