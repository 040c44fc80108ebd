# SPDX-License-Identifier: Apache-2.0
"""ptxas as an oracle: many instructions per run, one per line, parse-only (`-arch=compute_XX`).

Semantic errors are all reported with their lines in one run. A `fatal` ends a run, and some lines
crash the assembler, so the runner drops such a line and goes on, and halves a batch that crashes.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
import tempfile
from pathlib import Path

REGISTERS = {
    "b8": "rb", "b16": "rs", "b32": "r", "b64": "rd", "b128": "rq", "f16": "h", "f16x2": "hh",
    "f32": "f", "f64": "fd", "pred": "p", "u8": "ub", "u16": "us", "u32": "u", "u64": "ud",
    "s8": "sb", "s16": "ss", "s32": "s", "s64": "sd",
}  # fmt: skip
BATCH = 1000
_ERROR = re.compile(r"line (\d+); (error|fatal)\s*: (.*)")


def prelude(version: str) -> str:
    """What the examples may name: registers by type, a variable in each state space."""
    is_new = tuple(map(int, version.split("."))) >= (8, 3)
    registers = {t: p for t, p in REGISTERS.items() if t != "b128" or is_new}
    return (
        ".global .align 16 .b8 gmem[64];\n.const .align 16 .b8 cmem[64];\n"
        ".visible .entry k(.param .u64 param0) {\n"
        ".shared .align 16 .b8 smem[64];\n.local .align 16 .b8 lmem[64];\n"
        + "".join(f".reg .{name} %{prefix}<300>;\n" for name, prefix in registers.items())
    )


def find_ptxas() -> Path | None:
    """The assembler of the pinned wheel."""
    path = Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13/bin/ptxas"
    return path if path.exists() else None


def assemble(ptxas: Path, lines: list[str], target: str, version: str) -> list[str]:
    """For each instruction "" when accepted, else the assembler's words."""
    verdicts: list[str | None] = [None] * len(lines)
    # Small batches: a fatal line costs a second run of its batch only.
    pending = [list(range(i, min(i + BATCH, len(lines)))) for i in range(0, len(lines), BATCH)]
    while pending:
        batch = pending.pop()
        while batch:
            code, errors = _run(ptxas, [lines[i] for i in batch], target, version)
            fatal = next((k for k, (kind, _) in errors.items() if kind == "fatal"), None)
            if fatal is not None:
                verdicts[batch[fatal]] = errors[fatal][1]
                del batch[fatal]
                continue
            if code < 0 and len(batch) > 1:
                half = len(batch) // 2
                pending += [batch[:half], batch[half:]]
                break
            for k, i in enumerate(batch):
                verdicts[i] = "crash" if code < 0 else errors.get(k, ("", ""))[1]
            break
    return [verdict or "" for verdict in verdicts]


def _run(
    ptxas: Path, lines: list[str], target: str, version: str
) -> tuple[int, dict[int, tuple[str, str]]]:
    """Exit status, and errors by line number within `lines`."""
    head = f".version {version}\n.target {target}\n.address_size 64\n{prelude(version)}"
    body = "".join(f"{{ {line}; }}\n" for line in lines)
    first = head.count("\n") + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.ptx"
        path.write_text(f"{head}{body}L0: ret;\n}}\n", encoding="ascii")
        arch = target.replace("sm_", "compute_")
        command = [str(ptxas), f"-arch={arch}", str(path), "-o", str(Path(folder) / "out")]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    errors: dict[int, tuple[str, str]] = {}
    for match in _ERROR.finditer(result.stdout + result.stderr):
        index = int(match[1]) - first
        if not 0 <= index < len(lines):
            raise RuntimeError(f"ptxas complains about the frame of the batch: {match[0]}")
        if index not in errors or match[2] == "fatal":
            errors[index] = (match[2], match[3])
    if result.returncode > 0 and not errors:
        raise RuntimeError(f"ptxas failed without naming a line: {result.stderr[:300]}")
    return result.returncode, errors
