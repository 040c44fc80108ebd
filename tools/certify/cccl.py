# SPDX-License-Identifier: Apache-2.0
"""The asm templates of CCCL's cuda::ptx headers, read where the wheel is installed, never copied.

A template becomes one line: its placeholders are registers by constraint.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_ASM = re.compile(
    r"\basm(?:\s+volatile)?\s*\(((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\((?:[^()]|\([^()]*\))*\))*)\)\s*;"
)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_CONSTRAINT = re.compile(r'"([=+]?)([rlhfdqnCN])"\s*\(')
_REGISTERS = {"r": "%r", "l": "%rd", "h": "%rs", "f": "%f", "d": "%fd", "q": "%rq"}


def find_headers() -> Path | None:
    """Return the generated cuda::ptx headers of the installed wheel."""
    root = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    found = sorted(root.glob("**/cuda/__ptx/instructions/generated"))
    return found[0] if found else None


def templates(folder: Path) -> Iterator[str]:
    """Every template as one line of instructions."""
    for path in sorted(folder.glob("*.h")):
        source = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        source = "\n".join(
            line for line in source.splitlines() if not line.lstrip().startswith("#")
        )
        for match in _ASM.finditer(source):
            line = template(match[1])
            if line:
                yield line


def template(body: str) -> str:
    """``"add %0, %1;" : "=r"(a) : "r"(b)`` -> ``add %r1, %r2``."""
    start = re.match(r"\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", body)
    if not start:
        return ""
    text = "".join(found[1] for found in _STRING.finditer(start[1]))
    text = text.replace("\\n", "\n").replace("\\t", " ").replace("%%", "%\0")
    text = " ".join(re.sub(r"//[^\n]*", "", text).split())
    constraints = [found[2] for found in _CONSTRAINT.finditer(body[start.end() :])]
    counts: dict[str, int] = {}
    operands = []
    for letter in constraints:
        counts[letter] = counts.get(letter, 0) + 1
        prefix = _REGISTERS.get(letter)
        operands.append(f"{prefix}{counts[letter]}" if prefix else "0")

    def operand(match: re.Match[str]) -> str:
        index = int(match[1])
        return operands[index] if index < len(operands) else match[0]

    text = re.sub(r"%(\d+)", operand, text).replace("%\0", "%").strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1].strip()
    return text.rstrip("; ")
