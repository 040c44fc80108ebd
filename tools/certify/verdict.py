# SPDX-License-Identifier: Apache-2.0
"""Our judge: the `verdict` program reads the same batch modules through the real parser."""

from __future__ import annotations

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import batch
from .batch import FrameRefused, Machine

BATCH = 20_000


class VerdictError(RuntimeError):
    """The verdict program failed."""


def find_verdict(root: Path) -> Path | None:
    """Return the newest verdict program among the build folders, or the one PYPTX_VERDICT names."""
    named = os.environ.get("PYPTX_VERDICT")
    found = [Path(named)] if named else list(root.glob("build/*/tests/diff/verdict"))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


class Verdict:
    """Judges lines: "" when accepted, else the diagnostic's code and message."""

    def __init__(self, program: Path, jobs: int = 2) -> None:
        self.program = program
        self.jobs = jobs

    def judge(self, lines: list[str], machine: Machine) -> list[str]:
        """Return a verdict for each line."""
        stray = self._run(["ret"], machine)[1]
        if stray:
            raise FrameRefused(f"{machine}: {stray}")
        size = max(1, min(BATCH, -(-len(lines) // self.jobs)))
        parts = [lines[i : i + size] for i in range(0, len(lines), size)]
        with ThreadPoolExecutor(self.jobs) as pool:
            found = list(pool.map(lambda part: self._batch(part, machine), parts))
        return [verdict for part in found for verdict in part]

    def _batch(self, lines: list[str], machine: Machine) -> list[str]:
        """Judge one batch; one in which a line breaks the frame is halved."""
        verdicts, stray = self._run(lines, machine)
        if not stray:
            return verdicts
        if len(lines) == 1:
            return [stray]
        half = len(lines) // 2
        return self._batch(lines[:half], machine) + self._batch(lines[half:], machine)

    def _run(self, lines: list[str], machine: Machine) -> tuple[list[str], str]:
        """Return a verdict for each line, and an error about none of them."""
        text, first = batch.module(machine, lines)
        with tempfile.TemporaryDirectory(prefix="certify") as folder:
            path = Path(folder) / "batch.ptx"
            path.write_text(text, encoding="ascii")
            command = [str(self.program), str(path)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0 or not result.stdout.endswith("=\n"):
            raise VerdictError(
                f"{self.program.name} ends with {result.returncode}: {result.stderr}"
            )
        verdicts, stray = [""] * len(lines), ""
        for row in result.stdout.splitlines()[:-1]:
            number, code, message = row.split("\t", 2)
            index = int(number) - first
            if 0 <= index < len(lines):
                verdicts[index] = f"{code} {message}"
            else:
                stray = stray or f"{code} {message} (line {number})"
        return verdicts, stray
