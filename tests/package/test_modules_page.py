# SPDX-License-Identifier: Apache-2.0
"""docs/guide/modules.md shows parts of programs, and what they print."""

from __future__ import annotations

import subprocess

import pytest

from support.guide import blocks_of
from support.tree import ROOT

PAGE = ROOT / "docs/guide/modules.md"
EXAMPLES = ROOT / "examples/cpp"
PROGRAM = ROOT / "build/release/examples/cpp/modules"
BLOCKS = blocks_of(PAGE.read_text(encoding="utf-8"))


def shown(language: str) -> list[str]:
    """The blocks of a language."""
    return [block.text for block in BLOCKS if block.language == language]


def printed_in_cpp() -> str:
    """What stands behind the C++ snippets; behind Python's stands what those print."""
    pairs = zip([None, *BLOCKS], BLOCKS, strict=False)
    blocks = [
        block.text
        for before, block in pairs
        if block.language == "text" and not (before and before.language == "python")
    ]
    return "".join(blocks)


def test_the_snippets_are_from_the_examples() -> None:
    sources = [(EXAMPLES / name).read_text() for name in ("modules.cpp", "dead_code.h")]
    assert len(shown("cpp")) == 6
    for block in shown("cpp"):
        assert any(block in source for source in sources), block
    assert any(f'R"({shown("")[0]})"' in source for source in sources)


def test_the_program_prints_what_the_page_says() -> None:
    if not PROGRAM.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    done = subprocess.run([PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == printed_in_cpp()
