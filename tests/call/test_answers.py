# SPDX-License-Identifier: Apache-2.0
"""sass() and report() ask the tools once; whatever could change their answer asks again."""

from __future__ import annotations

import gc
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyptx import _toolchain, kernel, ptx, reg
from pyptx._report import answers
from pyptx.types import f32
from support.assembling import needs_assembler

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

pytestmark = needs_assembler

#: Shown as a disassembler shows it, so that a report has a line and an instruction.
SAID = '//## File "some.py", line 3\n        /*0000*/  FADD R1, R2, R3 ;\n'
STEP = 1.0


def tool(path: Path, *, said: str = SAID, condition: str = "true") -> Path:
    """Write a program that prints as a disassembler does, where the condition holds."""
    path.write_text(f"#!/bin/sh\n{condition} || exit 3\nprintf %s '{said}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were run, with both disassemblers stood in for."""
    seen: list[str] = []
    run = subprocess.run

    def counted(command: list[str], *args: Any, **kwargs: Any) -> Any:
        seen.append(Path(command[0]).name)
        return run(command, *args, **kwargs)

    monkeypatch.setattr(subprocess, "run", counted)
    monkeypatch.setattr(answers, "_answers", answers.Answers())
    for name in ("cuobjdump", "nvdisasm"):
        monkeypatch.setenv(f"PYPTX_{name.upper()}", str(tool(tmp_path / name)))
    return seen


def build() -> Kernel:
    @kernel(arch="sm_90a", grid=(1, 1, 1), block=(32, 1, 1))
    def steps(*, n: int = 2) -> None:
        a = reg.scalar(f32, init=0.0)
        out = ptx.var("global", f32, "out", size=4)
        for _ in range(n):
            ptx.inst.add.f32(a, a, STEP)
        ptx.inst.st.global_.f32(out, a)
        ptx.ret()

    return steps


def test_the_second_answer_is_the_first(runs: list[str]) -> None:
    k = build()
    assert k.sass() == k.sass() == k.sass(n=2) == SAID
    assert runs == ["cuobjdump"]
    first = k.report()
    assert first == k.report()
    assert first.instructions == {"FADD": 1}
    assert runs == ["cuobjdump", "nvdisasm"]


def test_another_specialisation_is_asked_about(runs: list[str]) -> None:
    k = build()
    counts = [k.report(n=n).lines for n in (2, 3, 2, 3)]
    assert counts[0] == counts[2] != counts[1] == counts[3]
    assert len(runs) == 2


def test_a_changed_kernel_is_asked_about(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    k = build()
    k.sass()
    monkeypatch.setitem(globals(), "STEP", 2.0)
    k.sass()
    assert len(runs) == 2
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    k.sass()
    assert len(runs) == 3
    monkeypatch.undo()


def test_another_tool_is_asked(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = build()
    k.sass()
    k.report()
    other = tool(tmp_path / "other", said="/*0000*/  EXIT ;\n")
    monkeypatch.setenv("PYPTX_CUOBJDUMP", str(other))
    monkeypatch.setenv("PYPTX_NVDISASM", str(other))
    assert k.sass() == "/*0000*/  EXIT ;\n"
    assert k.report().instructions == {"EXIT": 1}
    tool(other, said="/*0000*/  NOP ;\n/*0010*/  NOP ;\n")  # replaced, under the same name
    assert k.report().instructions == {"NOP": 2}
    assert runs == ["cuobjdump", "nvdisasm", "other", "other", "other"]


@pytest.mark.parametrize("name", ["PYPTX_PTXAS", "PYPTX_NVJITLINK", "CUDA_HOME", "CUDA_PATH"])
def test_a_changed_environment_asks_again(
    runs: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = build()
    k.sass()
    k.sass()
    assert len(runs) == 1
    monkeypatch.setenv(name, f"{os.environ.get(name, '')}/elsewhere")
    k.sass()
    assert len(runs) == 2


def test_another_assembler_is_asked(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    k = build()
    k.sass()
    monkeypatch.setattr(_toolchain._core, "current_compiler", lambda: "another build")
    k.sass()
    assert len(runs) == 2


def test_a_tool_that_appears_is_found(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = build()
    for name in ("PYPTX_NVDISASM", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_toolchain, "site_folders", list)
    monkeypatch.setattr(_toolchain, "toolkit_folders", list)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    assert k.report().instructions == {}
    assert k.report().instructions == {}
    tool(folder / "nvdisasm")
    assert k.report().instructions == {"FADD": 1}
    assert runs == ["nvdisasm"]


def test_an_error_is_not_kept(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = build()
    sign = tmp_path / "sign"
    failing = tool(tmp_path / "failing", condition=f'test -e "{sign}"')
    monkeypatch.setenv("PYPTX_CUOBJDUMP", str(failing))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="failing failed"):
            k.sass()
    sign.touch()
    assert k.sass() == k.sass() == SAID
    assert len(runs) == 3


def test_a_caller_cannot_spoil_what_is_kept(runs: list[str]) -> None:
    k = build()
    for _ in range(2):
        report = k.report()
        assert report.instructions == {"FADD": 1}
        assert report.lines
        report.instructions["FADD"] = 99
        report.lines.clear()
    assert len(runs) == 1


def test_what_is_kept_is_bounded(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    k = build()
    monkeypatch.setattr(answers, "MOST_KEPT", 2)
    for n in (1, 2, 1, 3):
        k.sass(n=n)
    assert len(runs) == 3
    k.sass(n=1)  # used later than n=2
    assert len(runs) == 3
    k.sass(n=2)
    assert len(runs) == 4
    monkeypatch.setattr(answers, "MOST_CHARACTERS", len(SAID) - 1)
    for n in (4, 4, 5, 4):  # the latest is kept however long it is
        k.sass(n=n)
    assert len(runs) == 7
    assert len(answers._answers._kept) == 1


def test_what_is_kept_goes_with_its_kernel(runs: list[str]) -> None:
    k = build()
    k.sass()
    k.report()
    assert len(answers._answers._kept) == 1
    del k
    gc.collect()
    assert len(answers._answers._kept) == 0
