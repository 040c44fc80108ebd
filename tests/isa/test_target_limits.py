# SPDX-License-Identifier: Apache-2.0
"""The limits of targets are those of ptxas: the most that it takes, and one more."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pyptx
from pyptx import _core
from support.assembling import find_ptxas

TARGETS = _core.target_names()
# Where ptxas says nothing of the suffix.
PLAIN = [target for target in TARGETS if target[-1].isdigit()]


def module(target: str, items: str = "", *, directives: str = "", body: str = "") -> str:
    return (
        f".version 9.4\n.target {target}\n.address_size 64\n{items}\n"
        f".visible .entry k() {directives}\n{{\n{body}\nret;\n}}\n"
    )


def shared(target: str, size: int) -> str:
    return module(target, body=f".shared .b8 a[{size}];\nst.volatile.shared.u8 [a], 1;")


def shared_of_callee(target: str, size: int) -> str:
    callee = f".func f()\n{{\n.shared .b8 a[{size - 16}];\nst.volatile.shared.u8 [a], 1;\nret;\n}}"
    return module(
        target,
        f".shared .align 4 .b8 m[16];\n{callee}\n",
        body="st.volatile.shared.u8 [m], 1;\ncall f;",
    )


def constant(target: str, size: int) -> str:
    return module(target, f".const .b8 a[{size}];")


@pytest.fixture
def ptxas(tmp_path: Path) -> Callable[[str], str]:
    """What ptxas says of a text; nothing where it takes it."""
    tool = find_ptxas()
    if tool is None:
        pytest.skip("no ptxas: install nvidia-cuda-nvcc")
    source = tmp_path / "kernel.ptx"

    def ask(text: str) -> str:
        source.write_text(text)
        target = text.split(".target ")[1].split()[0]
        done = subprocess.run(
            [tool, "-arch", target, "-o", str(tmp_path / "kernel.cubin"), str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0 or "uses too much" in said, said + text
        return said

    return ask


def codes(text: str) -> list[str]:
    return [finding.code for finding in pyptx.verify(text, lint=False)]


@pytest.mark.parametrize("target", TARGETS)
def test_static_memory(target: str, ptxas: Callable[[str], str]) -> None:
    limits = _core.limits(target)
    assert limits is not None
    for program, most in ((shared, limits.static_shared), (constant, limits.constant)):
        for size, is_fine in ((most, True), (most + 1, False)):
            text = program(target, size)
            assert (ptxas(text) == "") == is_fine
            assert codes(text) == ([] if is_fine else ["PTX0307"])


def test_shared_memory_of_called_functions_counts(ptxas: Callable[[str], str]) -> None:
    most = _core.limits("sm_90").static_shared
    for size, is_fine in ((most, True), (most + 1, False)):
        text = shared_of_callee("sm_90", size)
        assert (ptxas(text) == "") == is_fine
        assert codes(text) == ([] if is_fine else ["PTX0307"])


@pytest.mark.parametrize("target", PLAIN)
def test_what_a_multiprocessor_holds(target: str, ptxas: Callable[[str], str]) -> None:
    """ptxas ignores a .minnctapersm that asks for more CTAs, or more warps, than there are."""
    limits = _core.limits(target)
    assert limits is not None
    for threads, most in ((32, limits.ctas), (128, limits.warps // 4)):
        for ctas, is_fine in ((most, True), (most + 1, False)):
            asked = module(target, directives=f".maxntid {threads} .minnctapersm {ctas}")
            said = ptxas(asked)
            assert ("out of range" in said) != is_fine, said
