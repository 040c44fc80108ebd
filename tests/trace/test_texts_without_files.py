# SPDX-License-Identifier: Apache-2.0
"""Kernels of functions that no file has, and of names that PTX does not take."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyptx import Error, kernel, ptx

PROGRAM = """
from pyptx import kernel, ptx, reg
from pyptx.types import u32

def helper(x):
    ptx.inst.add.u35(x, x, 1)  # the guilty line

@kernel
def k():
    helper(reg.scalar(u32))
    ptx.ret()
"""
SHOWN = "    ptx.inst.add.u35(x, x, 1)  # the guilty line"


def refusal(made: Any) -> str:
    with pytest.raises(Error) as caught:
        made.ptx()
    return str(caught.value)


def test_text_of_exec() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAM, names)
    other: dict[str, Any] = {}
    text = PROGRAM.replace("guilty", "other guilty").replace("def helper", "\n\ndef helper")
    exec(text, other)
    assert SHOWN in refusal(names["k"])
    assert "6 |     ptx.inst.add.u35(x, x, 1)  # the guilty line" in refusal(names["k"])
    assert "8 |     ptx.inst.add.u35(x, x, 1)  # the other guilty line" in refusal(other["k"])


def test_text_of_exec_under_a_name_of_its_own() -> None:
    names: dict[str, Any] = {}
    exec(compile(PROGRAM, "<cell 7>", "exec"), names)
    assert "--> <cell 7>:6:18" in refusal(names["k"])
    assert SHOWN in refusal(names["k"])


def test_a_text_that_nobody_has_any_more() -> None:
    names: dict[str, Any] = {}
    # What is run is not what anybody holds.
    code = compile(PROGRAM.replace("35", "36"), "<gone>", "exec")
    exec(code, names)
    shown = refusal(names["k"])
    assert "<gone>:6" in shown
    assert "guilty" not in shown


@pytest.mark.parametrize("way", ["-c", "stdin"])
def test_text_of_the_program(way: str, tmp_path: Path) -> None:
    program = PROGRAM + "\nk.ptx()\n"
    path = tmp_path / "program.txt"
    path.write_text(program)
    arguments = ["-c", program] if way == "-c" else ["-"]
    with path.open() as text:
        run = subprocess.run(
            [sys.executable, *arguments],
            stdin=text,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert run.returncode != 0
    assert SHOWN in run.stderr.partition("VerifyError")[2] + run.stderr.partition("TargetError")[2]


def test_a_lambda_is_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    made = kernel(lambda: ptx.ret())
    assert ".visible .entry lambda()" in made.ptx()
    assert made.ptx() == kernel(lambda: ptx.ret()).ptx()


@pytest.mark.parametrize(
    ("name", "entry"),
    [("größe", "gr_f6__df_e"), ("_", "__"), ("a.b", "a_2e_b"), ("x", "x"), ("1st", "_1st")],
)
def test_names_are_made_legal(name: str, entry: str) -> None:
    def body() -> None:
        ptx.ret()

    body.__name__ = name
    made = kernel(body)
    assert f".entry {entry}(" in made.ptx()
    assert made.signature.name == entry
