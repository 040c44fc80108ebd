# SPDX-License-Identifier: Apache-2.0
"""The verifier against ptxas on the table's examples, and the runner on lines that stop ptxas.

Needs the `verdict` program (built with the C++ tests) and the pinned ptxas wheel. `make certify`
compares everything else.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

from certify.batch import FrameRefused, Machine  # noqa: E402
from certify.ptxas import OracleError, Ptxas, find_ptxas  # noqa: E402
from certify.suites import OLDEST, USUAL  # noqa: E402
from certify.verdict import Verdict  # noqa: E402
from isagen.model import load  # noqa: E402


@pytest.fixture(scope="module")
def ptxas() -> Ptxas:
    program = find_ptxas()
    if program is None:
        pytest.skip("needs the ptxas wheel")
    return Ptxas(program)


def test_the_runner_goes_on_after_fatal_lines(ptxas: Ptxas) -> None:
    lines = [
        "add.u32 %r1, %r2, %r3",
        "add.u32 %f1, %r2, %r3",
        "add.u32 , ,",
        "ret",
        "add , ,",
        "ret",
    ]
    verdicts = ptxas.judge(lines * 50, Machine("sm_90a"))
    assert [text == "" for text in verdicts] == [True, False, False, True, False, True] * 50


def test_the_runner_finds_errors_of_expansions_next_to_others(ptxas: Ptxas) -> None:
    lines = [
        "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd8]",
        "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rs8]",
        "add.u32 %f1, %r2, %r3",
        "wmma.load.b.sync.aligned.col.m8n8k4.f64 {%sd8}, [%rd16]",
        "wmma.load.b.sync.aligned.col.m8n8k4.f64 {%fd8}, [%rd16]",
    ]
    verdicts = ptxas.judge(lines * 40, Machine("sm_90a"))
    assert [text == "" for text in verdicts] == [True, False, False, False, True] * 40


def test_the_runner_survives_a_crash(tmp_path: Path) -> None:
    """A stand-in that dies of SIGSEGV on one word: the lines around it keep their verdicts."""
    program = tmp_path / "fragile"
    program.write_text('#!/bin/sh\ngrep -q boom "$2" && kill -SEGV $$\nexit 0\n')
    program.chmod(0o755)
    lines = ["ret", "boom", *["ret"] * 30, "boom", "ret"]
    verdicts = Ptxas(program, jobs=1).judge(lines, Machine("sm_90a"))
    assert verdicts == ["crash" if line == "boom" else "" for line in lines]


def moody(folder: Path, count: str) -> Path:
    """A stand-in that refuses a branch where a condition on the number of branches holds."""
    program = folder / "moody"
    program.write_text(
        f'#!/bin/sh\n[ "$(grep -c "{{ bra" "$2")" {count} ] || exit 0\n'
        'for at in $(grep -n "{ bra" "$2" | cut -d: -f1); do\n'
        '  echo "x, line $at; error : no" >&2\ndone\nexit 255\n'
    )
    program.chmod(0o755)
    return program


def test_what_neighbours_hide_is_found(tmp_path: Path) -> None:
    program = moody(tmp_path, "-eq 1")
    verdicts = Ptxas(program, jobs=1).judge(["bra L0"] * 5, Machine("sm_90a"))
    assert verdicts == ["no"] * 5


def test_a_refusal_that_depends_on_neighbours_is_noticed(tmp_path: Path) -> None:
    program = moody(tmp_path, "-gt 1")
    with pytest.raises(OracleError, match="alone: accepted"):
        Ptxas(program, jobs=1).judge(["bra L0"] * 5, Machine("sm_90a"))


def test_an_error_without_a_line_finds_its_line(tmp_path: Path) -> None:
    """A stand-in that complains about the first line of the file, whoever is at fault."""
    program = tmp_path / "vague"
    program.write_text(
        '#!/bin/sh\ngrep -q "{ bra" "$2" || exit 0\necho "x, line 9; error : odd" >&2\nexit 255\n'
    )
    program.chmod(0o755)
    lines = ["ret", "bra L0", *["ret"] * 9, "bra L0"]
    verdicts = Ptxas(program, jobs=1).judge(lines, Machine("sm_90a"))
    assert [verdict != "" for verdict in verdicts] == [line == "bra L0" for line in lines]


def test_a_target_before_its_version_is_told_apart(ptxas: Ptxas) -> None:
    with pytest.raises(FrameRefused):
        ptxas.judge(["ret"], Machine("sm_100a", "8.0"))


def test_every_example_agrees(ptxas: Ptxas, verdict: Verdict) -> None:
    """Accepted examples assemble somewhere, rejected ones nowhere, and ptxas says the same."""
    table = load(ROOT / "isa")
    examples = [example for form in table.forms for example in form.examples]
    lines = [example.text for example in examples]
    problems = []
    codes: dict[str, set[str]] = defaultdict(set)
    for machine in (OLDEST, *map(Machine, USUAL)):
        ours, theirs = verdict.judge(lines, machine), ptxas.judge(lines, machine)
        for line, mine, other in zip(lines, ours, theirs, strict=True):
            codes[line].add(mine.split(" ")[0])
            if mine and not other:
                other = ptxas.assemble([line], machine)[0]  # refused when code is generated?
            if (mine == "") != (other == ""):
                problems.append(f"{machine} {line}: ours {mine or 'ok'}; ptxas: {other or 'ok'}")
    for example in examples:
        found = codes[example.text]
        if example.code and ("" in found or example.code not in found):
            problems.append(f"{example.text}: expected {example.code}, got {sorted(found)}")
        if not example.code and "" not in found:
            problems.append(f"{example.text}: refused on every target")
    assert problems == []
