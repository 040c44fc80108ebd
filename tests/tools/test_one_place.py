# SPDX-License-Identifier: Apache-2.0
"""The lint that finds a second place that knows an instruction, on planted cases."""

from __future__ import annotations

from pathlib import Path

import pytest

import one_place
from isagen.model import load
from support.tree import ROOT

WORDS = {"ld", "st", "acquire", "volatile"}


def planted(folder: Path, name: str, text: str) -> list[str]:
    """The violations of a tree with one file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return list(one_place.violations(folder, WORDS))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/build/x.cpp", 'if (opcode == "ld") return;\n'),
        ("src/build/x.cpp", 'if ("volatile" != word) return;\n'),
        ("src/verify/x.cpp", 'return text.starts_with("ld.global");\n'),
        ("include/pyptx/x.h", 'constexpr std::string_view kLoads[] = {"ld", "st"};\n'),
        ("python/pyptx/x.py", 'if opcode == "ld":\n    pass\n'),
        ("python/pyptx/x.py", 'LOADS = {"ld", "st"}\n'),
        ("python/pyptx/x.py", 'if word in ("acquire", "volatile"):\n    pass\n'),
        ("python/pyptx/x.py", 'x = text.startswith("st.")\n'),
    ],
)
def test_a_decision_is_found(tmp_path: Path, name: str, text: str) -> None:
    """Comparisons and lists, in both languages."""
    problems = planted(tmp_path, name, text)
    assert problems
    assert problems[0].startswith(f"{name}:1: decides on")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/build/x.cpp", 'tracer.emit("ld.global.f32", {d, a});\n'),
        ("src/build/x.cpp", '// like "ld" == "st"\nint x;\n'),
        ("src/build/x.cpp", 'if (name == "ldd") return;\n'),
        ("src/build/x.cpp", '// one-place: why\nif (opcode == "ld") return;\n'),
        ("src/build/x.cpp", 'Word words[] = {{"ld", "ld"}};\n'),
        ("src/emu/sem/x.cpp", 'if (word == "acquire") return;\n'),
        ("python/pyptx/x.py", 'ptx.inst("ld.global.f32", d, a)\n'),
        ("python/pyptx/x.py", 'if opcode == "ld":  # one-place: why\n    pass\n'),
        ("tests/x.py", 'assert opcode == "ld"\n'),
    ],
)
def test_spelling_is_allowed(tmp_path: Path, name: str, text: str) -> None:
    """Insertion, comments, other words, a stated reason, and what is exempt."""
    assert planted(tmp_path, name, text) == []


def test_the_tree_is_clean() -> None:
    """The real sources against the real table."""
    words = one_place.guarded_words(load(ROOT / "isa"))
    assert {"ld", "acquire", "cvt"} <= words
    assert not {"f32", "maxntid", "shared"} & words
    assert one_place.violations(ROOT, words) == []
