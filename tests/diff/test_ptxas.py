# SPDX-License-Identifier: Apache-2.0
"""The verifier against ptxas: the table's examples, sampled instances and their mutations.

Needs the `verdict` program (built with the C++ tests) and the pinned ptxas wheel.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

from instances import Sampler, mutate  # noqa: E402
from ptxas import assemble, find_ptxas  # noqa: E402

from isagen.model import Table, load  # noqa: E402

TARGETS = ("sm_80", "sm_90a", "sm_100a")
VERSION = "9.4"

# Where we refuse what ptxas takes, or the other way round, on purpose: (text, our verdict, reason).
LEDGER = [
    (r".", r"ptx0206.*\.u64 or \.u32", "a narrow address is refused after parsing: 32-bit ABI"),
    (r"param::func", r"ok", "ptxas: .param::func has no meaning in an entry function"),
    (r"^wgmma", r"ptx0203", "the manual makes .sync.aligned mandatory"),
    (r"^fma\..*\bbf16", r"ptx0203", "the manual has .rn only"),
    (r"^fma\..*\boob\b.*\.sat\b", r"ptx0203", "the manual has no .sat with .oob"),
    (r"^rcp\..*\bftz\b.*f64", r"ptx0203", "the manual has .ftz with .approx only"),
    (r"^st\..*\.wb\..*L2::evict", r"ptx0203", "the manual has no .wb with eviction priorities"),
    (r"^fence\.proxy", r"ptx0203", "ptxas ignores words after a proxy fence"),
    (r"%hh", r"ptx020[56]", "ptxas takes .f16x2 registers for predicates"),
]


def find_verdict() -> Path | None:
    """The newest verdict program among the build folders, or the one PYPTX_VERDICT names."""
    named = os.environ.get("PYPTX_VERDICT")
    found = [Path(named)] if named else list(ROOT.glob("build/*/tests/diff/verdict"))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def judge(lines: list[str], target: str) -> list[str]:
    """Our verdicts: "ok" or the code and message."""
    program = find_verdict()
    assert program is not None
    text = "".join(f"{target} {VERSION} {line}\n" for line in lines)
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def is_known(line: str, ours: str) -> bool:
    """Is a disagreement in the ledger? A word written twice always is: ptxas drops the second."""
    words = line.split(" ")[0].split(".")
    if len(set(words)) < len(words) and ours != "ok":
        return True
    return any(re.search(t, line) and re.match(o, ours.lower()) for t, o, _ in LEDGER)


@pytest.fixture(scope="module")
def table() -> Table:
    """The instruction table."""
    if find_verdict() is None or find_ptxas() is None:
        pytest.skip("needs the verdict program and the ptxas wheel")
    return load(ROOT / "isa")


def test_the_oracle_refuses_and_accepts(table: Table) -> None:
    """The batch runner tells good lines from bad ones, also around a fatal one."""
    ptxas = find_ptxas()
    assert ptxas is not None
    lines = ["add.u32 %r1, %r2, %r3", "add.u32 %f1, %r2, %r3", "add.u32 , ,", "ret"]
    verdicts = assemble(ptxas, lines, "sm_90a", VERSION)
    assert [verdict == "" for verdict in verdicts] == [True, False, False, True]


def test_every_example_agrees(table: Table) -> None:
    """Accepted examples assemble somewhere, rejected ones nowhere, and ptxas says the same."""
    ptxas = find_ptxas()
    assert ptxas is not None
    examples = [example for form in table.forms for example in form.examples]
    lines = [example.text for example in examples]
    problems = []
    accepted: Counter[str] = Counter()
    codes: dict[str, set[str]] = {}
    for target in TARGETS:
        theirs = assemble(ptxas, lines, target, VERSION)
        for line, mine, other in zip(lines, judge(lines, target), theirs, strict=True):
            accepted[line] += mine == "ok"
            codes.setdefault(line, set()).add(mine.split(" ")[0])
            if (mine == "ok") != (other == ""):
                problems.append(f"{target} {line}: ours {mine}; ptxas: {other or 'ok'}")
    for example in examples:
        if example.code and (accepted[example.text] or example.code not in codes[example.text]):
            problems.append(f"{example.text}: expected {example.code}, {codes[example.text]}")
        if not example.code and not accepted[example.text]:
            problems.append(f"{example.text}: refused on every target")
    print(f"{len(examples)} examples of {len(table.forms)} forms on {len(TARGETS)} targets")
    assert problems == []


def test_sampled_instances_agree(table: Table) -> None:
    """Every slot value in random company, and one-step mutations of each instance."""
    ptxas = find_ptxas()
    assert ptxas is not None
    words: dict[str, set[str]] = {}
    for form in table.forms:
        texts = {value.text for slot in form.slots for value in slot.values}
        words.setdefault(form.opcode, set()).update(texts)
    lines: dict[str, None] = {}
    for form in table.forms:
        sampler = Sampler(table, form, seed=int(os.environ.get("PYPTX_DIFF_SEED", "1")))
        for instance in sampler.instances(rounds=2):
            lines[instance.text] = None
            lines[mutate(instance, sorted(words[form.opcode]), sampler.random).text] = None
    problems = []
    for target in TARGETS:
        theirs = assemble(ptxas, list(lines), target, VERSION)
        known = accepted = 0
        for line, mine, other in zip(lines, judge(list(lines), target), theirs, strict=True):
            accepted += other == ""
            if (mine == "ok") == (other == ""):
                continue
            if is_known(line, mine):
                known += 1
            else:
                problems.append(f"{target} {line}: ours {mine}; ptxas: {other or 'ok'}")
        print(f"{target}: {len(lines)} instances, ptxas accepts {accepted}, in the ledger {known}")
    assert problems == []
