# SPDX-License-Identifier: Apache-2.0
"""Every public helper, called as kernels call it, on every target that has it: ptxas takes it all,
and so does our own verifier, reading the text back.

The helpers are found by looking; one without a call fails. A call whose target lacks it must be
refused, so a target that is left out by mistake fails as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pyptx import Error, ptx, verify
from support.assembling import assemble
from support.helpers import calls_async, calls_basic, calls_matrix, calls_tcgen05  # noqa: F401
from support.helpers.calls import CALLS, TARGETS, Bench, Call, helpers, label_of


def test_every_helper_has_a_call() -> None:
    called = {entry.helper for entry in CALLS}
    assert sorted(set(helpers()) - called) == []
    assert sorted(called - set(helpers())) == []


def _text(entries: list[Call], target: str) -> str:
    """All calls, one after the other, in one kernel."""
    with Bench(target) as bench:
        seen = set()
        for entry in entries:
            if entry.run in seen:
                continue
            seen.add(entry.run)
            ptx.comment(label_of(entry))
            try:
                entry.run(bench)
            except Error as refused:
                pytest.fail(f"{label_of(entry)} on {target}: {refused}")
        return str(bench.trace.finish().text)


def _refusal(entry: Call, target: str) -> str | None:
    with Bench(target) as bench:
        try:
            entry.run(bench)
        except Error as refused:
            return str(refused.diagnostics[0].code)
    return None


@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_takes_every_call(target: str, tmp_path: Path) -> None:
    entries = [entry for entry in CALLS if target in entry.targets]
    lines = 0
    for kernel in sorted({entry.kernel for entry in entries}):
        batch = [entry for entry in entries if entry.kernel == kernel]
        text = assemble(_text(batch, target), target, tmp_path)
        assert [str(found) for found in verify(text) if found.severity != "lint"] == []
        lines += text.count(";\n")
    names = {entry.helper for entry in entries}
    print(f"{target}: {len(names)} helpers, {len(entries)} calls, {lines} lines assembled")


@pytest.mark.parametrize("target", TARGETS)
def test_other_targets_refuse(target: str) -> None:
    elsewhere = {entry.run: entry for entry in CALLS if target not in entry.targets}.values()
    codes = {label_of(entry): _refusal(entry, target) for entry in elsewhere}
    wrong = {label: code for label, code in codes.items() if code != "PTX0302"}
    assert wrong == {}
    print(f"{target}: {len(codes)} calls refused")
