# SPDX-License-Identifier: Apache-2.0
"""Pages of the guide as programs: their blocks, and what of a page is not what it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

from pyptx import _core, _toolchain
from support.tree import ROOT

GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))


FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


NEEDS_GPU = "# needs a GPU\n"


MACHINE_CODE = re.compile(r"\b(report\b(?!=)|sass|cubin)")


class Block(NamedTuple):
    """A fenced block and the line of its page."""

    language: str
    text: str
    line: int


def blocks_of(text: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is `shown`, where `...` stands for anything."""
    parts = [re.escape(part) for part in shown.strip().split("...")]
    return re.fullmatch(".*".join(parts), printed.strip(), re.DOTALL) is not None


def run_page(name: str, text: str, folder: Path, *, on_gpu: bool) -> list[str]:
    """Run a page's program in `folder`; what it prints that the page does not say."""
    path = folder / f"{name}.py"
    scope: dict = {"__name__": "__main__", "__file__": str(path)}
    blocks = blocks_of(text)
    # Whole before the first block runs, as a reader's is: errors quote its lines.
    program = "\n\n".join(block.text for block in blocks if block.language == "python")
    path.write_text(program, encoding="utf-8")
    problems, first_line, printed = [], 1, None
    for block in blocks:
        if block.language == "python":
            code = "\n" * (first_line - 1) + block.text
            first_line += block.text.count("\n") + 2
            if is_skipped(block.text, on_gpu=on_gpu):
                printed = None
                continue
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, str(path), "exec"), scope)
            printed = out.getvalue()
        elif block.language == "text" and printed is not None:
            if not matches(block.text, printed):
                problems.append(f"{name}.md:{block.line}: the snippet prints\n{printed}")
            printed = None
    return problems


def is_skipped(code: str, *, on_gpu: bool) -> bool:
    """Whether this machine lacks what a block needs."""
    if code.startswith(NEEDS_GPU) and not on_gpu:
        return True
    return MACHINE_CODE.search(code) is not None and not has_pinned_tools()


def has_pinned_tools() -> bool:
    """Whether machine code here looks as it does with the pinned wheels."""
    _toolchain.announce_folders()
    tools = [_toolchain.find_tool(name) for name in ("nvdisasm", "cuobjdump")]
    if None in tools or _toolchain.missing_assembler() is not None:
        return False
    name, _ = _core.find_compiler()
    return name.startswith("nvJitLink 13.")
