# SPDX-License-Identifier: Apache-2.0
"""A few programs of the corpus, compiled and checked; `make corpus` checks the full matrix."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.tree import TESTS

sys.path.insert(0, str(TESTS / "corpus"))

import corpus

# One case per construct that is hard to read or print: debug sections, initialisers, calls through
# prototypes, texture handles, inline assembly, relocatable code, tensor cores of each generation.
SUBSET = [
    corpus.Case("variables", "sm_75", "plain"),
    corpus.Case("virtual_calls", "sm_80", "lineinfo"),
    corpus.Case("textures", "sm_120", "plain"),
    corpus.Case("inline_asm", "sm_90a", "debug"),
    corpus.Case("dynamic_parallelism", "sm_100a", "rdc"),
    corpus.Case("wgmma_inline", "sm_90a", "plain"),
    corpus.Case("tcgen05_inline", "sm_100a", "plain"),
    corpus.Case("tma", "sm_107a", "plain"),
    corpus.Case("mma_inline", "sm_120", "plain"),
    corpus.Case("printing", "sm_107a", "debug"),
]


@pytest.mark.parametrize("case", SUBSET, ids=str)
def test_case(case: corpus.Case) -> None:
    program = corpus.find_roundtrip()
    if program is None or not corpus.is_available():
        pytest.skip("needs the roundtrip program and the CUDA wheels")
    assert corpus.check(case, program) == []


def test_the_corpus_is_large_enough() -> None:
    assert len(corpus.programs()) >= 25
    assert len(list(corpus.cases())) > 25 * len(corpus.ARCHITECTURES) * 3


def test_other_code_is_noticed(tmp_path: Path) -> None:
    """The comparison of machine code can fail: another constant is another section."""
    if not corpus.is_available():
        pytest.skip("needs the CUDA wheels")
    case = corpus.Case("variables", "sm_75", "plain")
    source = corpus.compile_case(case).read_text()
    changed = tmp_path / "changed.ptx"
    assert "1664525" in source
    changed.write_text(source.replace("1664525", "1664526"))
    same, other = (corpus.machine_code(path, case) for path in (corpus.compile_case(case), changed))
    assert same.keys() == other.keys()
    assert same != other


def test_a_cubin_is_taken_apart() -> None:
    """Sections are found by name, and other files are refused."""
    with pytest.raises(Exception, match=r"buffer|unpack"):
        corpus.sections(b"\x7fELF")
