# SPDX-License-Identifier: Apache-2.0
"""The course in C++ shows parts of programs, and all that they print.

docs/guide/cpp_NAME.md is the page of examples/cpp/course/NAME.cpp. Its `text` blocks, one after the
other, are the program's output, where `...` stands for anything; test_docs.py holds its snippets to
the sources.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.guide import GUIDE, blocks_of, matches
from support.tree import ROOT

SOURCES = sorted((ROOT / "examples/cpp/course").glob("*.cpp"))
PROGRAMS = ROOT / "build/release/examples/cpp/course"


def shown(page: Path) -> str:
    """What a page says that its program prints."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    return "".join(block.text for block in blocks if block.language == "text")


def test_every_program_has_its_page():
    pages = {page.stem for page in GUIDE if page.stem.startswith("cpp_")}
    assert pages == {f"cpp_{source.stem}" for source in SOURCES}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_program_prints_what_its_page_says(source, tmp_path):
    program = PROGRAMS / source.stem
    if not program.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    done = subprocess.run(
        [program, tmp_path / "saved.pyptx"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "build/release",  # where paths of sources begin if they are relative
        env=os.environ | {"PYPTX_LINEINFO": "0"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    page = ROOT / f"docs/guide/cpp_{source.stem}.md"
    assert matches(shown(page), done.stdout), done.stdout


def test_another_output_is_found():
    page = ROOT / "docs/guide/cpp_shared_memory.md"
    assert "45" in shown(page)
    assert not matches(shown(page), shown(page).replace("45", "46"))
