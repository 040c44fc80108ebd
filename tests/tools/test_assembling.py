# SPDX-License-Identifier: Apache-2.0
"""The tests' own assembler: which one is taken, and what an older one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyptx import _toolchain
from support import assembling

TEXT = ".version 9.4\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n"


def stand_in(folder: Path, says: str, release: str = "13.0") -> Path:
    """Write a ptxas that refuses everything with these words."""
    program = folder / f"ptxas-{release}"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo release {release}, && exit\n'
        f'echo "{says}" >&2\nexit 255\n'
    )
    program.chmod(0o755)
    return program


def test_the_environment_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = stand_in(tmp_path, "no")
    monkeypatch.setenv("PYPTX_PTXAS", str(chosen))
    assert assembling.find_ptxas() == chosen
    with pytest.raises(AssertionError, match="no"):
        assembling.assemble(TEXT, "sm_90a", tmp_path)


def test_else_the_newest_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [stand_in(tmp_path, "no", release) for release in ("13.4", "13.10")]
    for order in (both, both[::-1]):
        monkeypatch.setattr(_toolchain, "find_tools", lambda name, order=order: order)
        assert assembling.find_ptxas() == both[1]


REFUSALS = [
    "fatal : Unsupported .version 9.4; current version is '9.0'",
    "fatal : Value 'sm_90a' is not defined for option 'gpu-name'",
]


@pytest.mark.parametrize("says", REFUSALS)
def test_a_wrong_text_does_not_pass_for_a_new_one(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYPTX_PTXAS", str(stand_in(tmp_path, says, "13.4")))
    with pytest.raises((AssertionError, pytest.skip.Exception), match="fatal") as found:
        assembling.assemble(TEXT, "sm_90a", tmp_path)
    assert found.type is AssertionError  # a skip would leave through `raises` unseen


@pytest.mark.parametrize("says", REFUSALS)
def test_an_older_one_skips(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_PTXAS", str(stand_in(tmp_path, says)))
    with pytest.raises(pytest.skip.Exception, match="too old"):
        assembling.assemble(TEXT, "sm_90a", tmp_path)
