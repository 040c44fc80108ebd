# SPDX-License-Identifier: Apache-2.0
"""The pass of examples/cpp/dead_code.h, on PTX that nvcc, CUB and Triton wrote.

What it removes is gone, what it leaves is the author's byte for byte, and ptxas makes the same
machine code of both: it finds dead code too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.tree import ROOT, TESTS

sys.path.insert(0, str(TESTS / "corpus"))

import corpus

PROGRAM = ROOT / "build/release/examples/cpp/dead_code"
TRITON = sorted((TESTS / "data/triton").glob("*.ptx"))
# Calls through tables and prototypes, assembly in braces, tensor cores, debug sections, CUB.
NVCC = [
    corpus.Case("virtual_calls", "sm_80", "lineinfo"),
    corpus.Case("inline_asm", "sm_90a", "debug"),
    corpus.Case("wgmma_inline", "sm_90a", "plain"),
    corpus.Case("printing", "sm_107a", "debug"),
    corpus.Case("cub_block", "sm_90a", "plain"),
]
# A loop that counts for itself alone, a load, and a guarded write.
PLANTED = """{
	.reg .pred dead_p;
	.reg .b32 dead<4>;
	mov.u32 dead0, %tid.x;
$planted:
	add.u32 dead1, dead1, dead0;
	ld.shared.u32 dead2, [dead0];
	setp.lt.u32 dead_p, dead1, dead2;
	@dead_p mov.u32 dead3, dead2;
}
"""


def without_dead_code(path: Path) -> tuple[str, int]:
    """What the program prints, and how much it says it removed."""
    if not PROGRAM.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    done = subprocess.run([PROGRAM, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stderr.split()[0])


def missing(before: str, after: str) -> list[str]:
    """The lines of `before` that `after` lacks; all others are there, in their order."""
    gone = []
    rest = iter(line.rstrip() for line in before.splitlines())
    for line in after.splitlines():
        for other in rest:
            if other == line.rstrip():
                break
            gone.append(other)
        else:
            pytest.fail(f"a line that was not there: {line}")
    return gone + list(rest)


def has_same_code(before: Path, text: str, case: corpus.Case, folder: Path) -> bool:
    after = folder / "after.ptx"
    after.write_text(text)
    copy = folder / "before.ptx"
    copy.write_text(before.read_text())
    return corpus.machine_code(copy, case) == corpus.machine_code(after, case)


@pytest.mark.parametrize("case", NVCC, ids=str)
def test_what_nvcc_wrote(case: corpus.Case, tmp_path: Path) -> None:
    if not corpus.is_available():
        pytest.skip("needs the CUDA wheels")
    path = corpus.compile_case(case)
    text, count = without_dead_code(path)
    assert len(missing(path.read_text(), text)) == count
    assert has_same_code(path, text, case, tmp_path)


@pytest.mark.parametrize("case", NVCC[-1:], ids=str)
def test_what_is_planted_is_found(case: corpus.Case, tmp_path: Path) -> None:
    """Five instructions before each return, and nothing but them."""
    if not corpus.is_available():
        pytest.skip("needs the CUDA wheels")
    path = corpus.compile_case(case)
    clean, count = without_dead_code(path)
    planted = tmp_path / "planted.ptx"
    planted.write_text(path.read_text().replace("\tret;\n", PLANTED + "\tret;\n"))
    text, more = without_dead_code(planted)
    returns = path.read_text().count("\tret;\n")
    assert returns > 0
    assert more == count + 5 * returns
    assert text != clean
    assert not re.search(r"^\t@?\w.*dead\d", text, re.MULTILINE)
    assert has_same_code(path, text, case, tmp_path)


@pytest.mark.parametrize("path", TRITON, ids=lambda path: path.stem)
def test_what_triton_wrote(path: Path, tmp_path: Path) -> None:
    text, count = without_dead_code(path)
    assert len(missing(path.read_text(), text)) == count
    again = tmp_path / "again.ptx"
    again.write_text(text)
    assert without_dead_code(again) == (text, 0)
    if count and corpus.is_available():
        case = corpus.Case(path.stem, re.findall(r"\.target (\w+)", text)[0], "plain")
        assert has_same_code(path, text, case, tmp_path)


def test_triton_leaves_some() -> None:
    """So that the tests above say something: the attention kernel has fourteen."""
    (attention,) = (path for path in TRITON if path.stem.startswith("attention"))
    assert without_dead_code(attention)[1] == 14


def test_what_is_wrong_is_not_touched(tmp_path: Path) -> None:
    if not PROGRAM.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    path = tmp_path / "wrong.ptx"
    path.write_text(TRITON[0].read_text().replace("ret;", "rett;"))
    done = subprocess.run([PROGRAM, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[PTX0201]" in done.stderr
