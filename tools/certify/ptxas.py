# SPDX-License-Identifier: Apache-2.0
"""ptxas as an oracle: many instructions per run, parse-only (`-arch=compute_XX`).

One run reports every semantic error with its line. A `fatal` ends a run, so the runner goes on
after that line, and asks only a few times about one shape of operands that the grammar refuses;
some lines crash the assembler, so a batch that crashes is halved. What ptxas expands from text of
its own it checks last, and only up to the first error of the run: lines that were accepted next to
refused ones are asked again until a run has no error. A sample of the verdicts is checked against
runs of one line.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from . import batch
from .batch import FrameRefused, Machine

BATCH = 20_000
SMALL = 64  # lines of a run that looks for errors one after the other; no run need be shorter
ASKED = 4  # lines of one shape that the grammar refuses before the others count as such
CRASH = "crash"
# ptxas expands these from text of its own and checks the expansion once: each needs its own run.
_ALONE = re.compile(r"(@!?%\w+ )?tensormap\.replace")
# An error of the grammar among the operands, which does not depend on the modifiers before them.
_GRAMMAR = re.compile(r"Parsing error near '[^\w.]+': syntax error")
# Lines of <builtin> are those of an expansion.
_ERROR = re.compile(r"(\S+), line (\d+); (error|fatal)\s*: (.*)")


def _opcode(line: str) -> str:
    """Return the first two words of an instruction, which name what ptxas expands."""
    return ".".join(re.sub(r"^@!?%\w+ ", "", line).split(" ")[0].split(".")[:2])


def _shape(line: str) -> str:
    """Return the opcode and the operands as the grammar sees them: modifiers and names dropped."""
    operands = re.sub(r"^@!?%\w+ ", "", line).partition(" ")[2]
    return _opcode(line) + re.sub(r"%\w+", "%", operands)


def _halves(part: list[int]) -> list[list[int]]:
    half = len(part) // 2
    return [part[:half], part[half:]]


class OracleError(RuntimeError):
    """ptxas did something that the runner does not understand."""


def find_ptxas() -> Path | None:
    """Return the assembler that PYPTX_PTXAS names, else that of the pinned wheel."""
    wheel = Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13/bin/ptxas"
    path = Path(os.environ.get("PYPTX_PTXAS", wheel))
    return path if path.exists() else None


@dataclass
class _Run:
    """One run: errors by index, the index of a fatal one, and an error that names no line of ours.

    A crash is such an error, and so are errors that ptxas finds at the end of a function.
    """

    errors: dict[int, str] = field(default_factory=dict)
    fatal: int | None = None
    stray: str = ""


class Ptxas:
    """Judges lines: "" when accepted, else the assembler's words."""

    def __init__(self, program: Path, jobs: int = 2, sample: int = 12) -> None:
        self.program = program
        self.jobs = jobs
        self.sample = sample

    def judge(self, lines: list[str], machine: Machine) -> list[str]:
        """Return a verdict for each line."""
        frame = self._run(["ret"], machine)
        if frame.errors or frame.stray:
            raise FrameRefused(f"{machine}: {frame.stray or frame.errors[0]}")
        together = [i for i, line in enumerate(lines) if not _ALONE.match(line)]
        size = max(1, min(BATCH, -(-len(together) // self.jobs)))
        parts = [together[i : i + size] for i in range(0, len(together), size)]
        parts += [[i] for i, line in enumerate(lines) if _ALONE.match(line)]
        verdicts = [""] * len(lines)

        def work(part: list[int]) -> None:
            for i, verdict in zip(
                part, self._batch([lines[i] for i in part], machine), strict=True
            ):
                verdicts[i] = verdict

        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(work, parts))
        self._check_sample(lines, verdicts, machine)
        return verdicts

    def _ask_alone(
        self, indices: list[int], lines: list[str], verdicts: list[str], machine: Machine
    ) -> None:
        """Replace verdicts by those of runs of one line each."""
        with ThreadPoolExecutor(self.jobs) as pool:
            alone = pool.map(lambda i: self._batch([lines[i]], machine)[0], indices)
            for i, verdict in zip(indices, alone, strict=True):
                verdicts[i] = verdict

    def assemble(self, lines: list[str], machine: Machine) -> list[str]:
        """Return a verdict for each line with code generation, one run per line."""
        with ThreadPoolExecutor(self.jobs) as pool:
            runs = list(pool.map(lambda line: self._run([line], machine, is_full=True), lines))
        return [run.stray or run.errors.get(0, "") for run in runs]

    def _check_sample(self, lines: list[str], verdicts: list[str], machine: Machine) -> None:
        """Neighbours must not change a verdict, but for hiding an error of an expansion.

        Where one is hidden, every accepted line of that opcode is asked alone.
        """
        source = random.Random(len(lines))
        for index in source.sample(range(len(lines)), min(self.sample, len(lines))):
            alone = self._batch([lines[index]], machine)[0]
            if (alone == "") == (verdicts[index] == ""):
                continue
            if not alone:
                raise OracleError(
                    f"{machine}: '{lines[index]}' alone: accepted; in a batch: {verdicts[index]}"
                )
            opcode = _opcode(lines[index])
            same = [
                i for i, line in enumerate(lines) if not verdicts[i] and _opcode(line) == opcode
            ]
            self._ask_alone(same, lines, verdicts, machine)

    def _batch(self, lines: list[str], machine: Machine) -> list[str]:
        """Judge one batch, going on after fatal lines and around crashing ones."""
        verdicts = [""] * len(lines)
        pending = [list(range(len(lines)))]
        unsure: list[int] = []
        reach = BATCH  # short where fatal lines lie close together: what is behind one is lost
        ungrammatical: dict[str, list[str]] = {}
        while pending:
            whole = []
            for i in pending.pop():
                known = ungrammatical.get(_shape(lines[i]), [])
                if len(known) < ASKED:
                    whole.append(i)
                else:
                    verdicts[i] = known[0]
            part, rest = whole[:reach], whole[reach:]
            if rest:
                pending.append(rest)
            if not part:
                continue
            run = self._run([lines[i] for i in part], machine)
            reach = reach * 4 if run.fatal is None else max(SMALL, 2 * run.fatal)
            if run.fatal is not None and _GRAMMAR.search(run.errors[run.fatal]):
                fatal = ungrammatical.setdefault(_shape(lines[part[run.fatal]]), [])
                fatal.append(run.errors[run.fatal])
            if run.stray and not run.errors:
                if len(part) == 1:
                    verdicts[part[0]] = run.stray
                else:
                    pending += _halves(part)
                continue
            for k, message in run.errors.items():
                verdicts[part[k]] = message
            if run.errors:
                unsure += [i for i in part[: run.fatal] if not verdicts[i]]
            if run.fatal is not None and part[run.fatal + 1 :]:
                pending.append(part[run.fatal + 1 :])
        self._settle(sorted(unsure), lines, verdicts, machine)
        return verdicts

    def _settle(
        self, unsure: list[int], lines: list[str], verdicts: list[str], machine: Machine
    ) -> None:
        """Run lines that pass the parser until no run has an error.

        Expansions are checked in order up to the first error: many lines are halved, few are run
        again before and after it.
        """
        pending = [unsure] if unsure else []
        while pending:
            part = pending.pop()
            run = self._run([lines[i] for i in part], machine)
            if not run.errors and not run.stray:
                continue
            if len(part) == 1:
                verdicts[part[0]] = run.errors.get(0, run.stray)
                continue
            for k, message in run.errors.items():
                verdicts[part[k]] = message
            if run.errors and len(part) <= SMALL:
                at = min(run.errors)
                rests = [part[:at], part[at + 1 :]]
            else:
                rests = _halves(part)
            pending += [left for rest in rests if (left := [i for i in rest if not verdicts[i]])]

    def _run(self, lines: list[str], machine: Machine, *, is_full: bool = False) -> _Run:
        text, first = batch.module(machine, lines)
        with tempfile.TemporaryDirectory(prefix="certify") as folder:
            path = Path(folder) / "batch.ptx"
            path.write_text(text, encoding="ascii")
            arch = machine.target if is_full else machine.target.replace("sm_", "compute_")
            options = ["-O0"] if is_full else []
            command = [str(self.program), f"-arch={arch}", str(path), "-o", f"{folder}/out"]
            result = subprocess.run(
                [*command, *options], capture_output=True, text=True, check=False
            )
        run = _Run(stray=CRASH if result.returncode < 0 else "")
        for match in _ERROR.finditer(result.stdout + result.stderr):
            index = int(match[2]) - first
            if match[1] == "<builtin>" or not 0 <= index < len(lines):
                run.stray = run.stray or match[0]
                continue
            run.errors.setdefault(index, match[4])
            if match[3] == "fatal":
                run.fatal = index
        if result.returncode > 0 and not run.errors:
            run.stray = run.stray or result.stderr[:300].strip()
        return run
