# SPDX-License-Identifier: Apache-2.0
"""Our verdicts against the golden: what ptxas said, judged again without ptxas.

A share of the golden runs here; PYPTX_GOLDEN=1 runs all of it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

from certify import golden  # noqa: E402
from certify.compare import Difference, load_ledger  # noqa: E402
from certify.verdict import Verdict  # noqa: E402

GOLDEN = Path(__file__).with_name("golden")
IS_FULL = os.environ.get("PYPTX_GOLDEN") == "1"


def differences(verdict: Verdict, judged: golden.Judged) -> list[str]:
    ledger = load_ledger(ROOT / "tools/certify/ledger.toml")
    found = []
    ours = verdict.judge(judged.lines, judged.machine)
    for line, mine, accepted in zip(judged.lines, ours, judged.accepted, strict=True):
        difference = Difference(line, judged.machine, mine, "" if accepted else "refused")
        if (mine == "") != accepted and not any(entry.covers(difference) for entry in ledger):
            found.append(f"{judged.machine}: {line}: ours: {mine or 'accepted'}")
    return found


def test_products(verdict: Verdict) -> None:
    for judged in golden.products(GOLDEN / "products.json.xz", 1.0 if IS_FULL else 0.3):
        assert any(judged.accepted)
        assert not all(judged.accepted)
        assert differences(verdict, judged) == []


def test_mutations(verdict: Verdict) -> None:
    judged = list(golden.line_lists(GOLDEN / "mutations.json.xz"))
    assert {one.machine.texmode for one in judged} == {"", "texmode_independent"}
    for one in judged:
        assert any(one.accepted)
        assert not all(one.accepted)
        assert differences(verdict, one) == []


def test_the_sweep(verdict: Verdict) -> None:
    """A form per line, a machine per bit row; a few of the machines unless all are asked for."""
    swept = list(golden.line_lists(GOLDEN / "sweep.json.xz", machines=1.0 if IS_FULL else 0.1))
    assert len({one.machine.target for one in swept}) > 10
    for one in swept:
        assert differences(verdict, one) == []


def test_a_wrong_bit_is_noticed(verdict: Verdict) -> None:
    """The comparison itself can fail."""
    judged = next(golden.products(GOLDEN / "products.json.xz", 0.001))
    lie = golden.Judged(judged.machine, judged.lines, [not bit for bit in judged.accepted])
    assert len(differences(verdict, lie)) == len(lie.lines)


def test_bits_come_back() -> None:
    bits = [i % 7 in (0, 3) for i in range(1000)]
    assert golden.unpack(golden.pack(bits), 1000) == bits


@pytest.mark.parametrize(("size", "count"), [(10, 20), (1000, 37), (2**20, 5000)])
def test_a_walk_repeats_nothing(size: int, count: int) -> None:
    walked = list(golden.walk(size, count))
    assert len(set(walked)) == len(walked) == min(size, count)
    assert all(0 <= index < size for index in walked)
