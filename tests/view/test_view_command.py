# SPDX-License-Identifier: Apache-2.0
"""`pyptx view` and `pyptx sass`: what they write, what they refuse and how."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import pyptx
from pyptx import _toolchain
from pyptx._view import command, named
from support.tree import ROOT
from support.viewed_kernels import build_sum_of_two

KERNELS = """
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32


def build(scale=3.0):
    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        grid=lambda N: (N // 32,),
        block=(32, 1, 1),
        arch="sm_80",
    )
    def scaled(X, Y, *, FACTOR=scale):
        px, py = ptx.global_ptrs(X, Y)
        at = (reg.from_(ptx.special.ctaid.x(), u32) * 32 + ptx.special.tid.x()) * 4
        x = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + at))
        ptx.inst.mul.rn.f32(x, x, FACTOR)
        ptx.inst.st.global_.f32(ptx.addr(py + at), x)
        ptx.ret()

    return scaled


scaled = build()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "viewed.py").write_text(KERNELS)
    (tmp_path / "k.ptx").write_text(build_sum_of_two().ptx())
    return tmp_path


def _data(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_a_kernel_of_a_python_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["view", "viewed.py:scaled", "N=64", "FACTOR=2.5"]) == 0
    assert re.fullmatch(r"scaled.html: \d+ bytes\n", capsys.readouterr().out)
    data = _data(folder / "scaled.html")
    assert data["heat"] is None
    assert any("0f40200000" in line for line in data["ptx"]["lines"])
    assert any(line.startswith("FMUL") for line in data["sass"]["lines"])


def test_a_function_that_gives_one_run_on_made_up_inputs(folder: Path) -> None:
    assert command.main(["view", "viewed.py:build", "N=64", "--run", "-o", "out.html"]) == 0
    data = _data(folder / "out.html")
    titles = [title for title, _ in data["heat"]["metrics"]]
    assert data["heat"]["totals"][titles.index("sectors")] == 16
    assert data["timeline"]["ctas"] == 2
    assert data["findings"] == []


def test_files_of_ptx_saved_kernels_and_cubins(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    k = build_sum_of_two()
    k.save(folder / "saved.pyptx")
    (folder / "k.cubin").write_bytes(k.cubin())
    listings = []
    for name in ("k.ptx", "saved.pyptx", "k.cubin"):
        assert command.main(["sass", name]) == 0
        listings.append(capsys.readouterr().out)
    assert listings[0] == listings[1] == listings[2]
    assert listings[0].startswith("sum_of_two:\n    0000  ")
    assert command.main(["sass", "k.cubin", "--raw"]) == 0
    assert "/* 0x" in capsys.readouterr().out
    assert command.main(["view", "saved.pyptx", "-o", "saved.html"]) == 0
    assert _data(folder / "saved.html")["title"] == "sum_of_two"


def test_two_sides(folder: Path) -> None:
    words = ["view", "--diff", "viewed.py:scaled", "N=64", "FACTOR=2.0,4.0", "-o", "d.html"]
    assert command.main(words) == 0
    data = _data(folder / "d.html")
    assert data["titles"] == ["scaled FACTOR=2.0", "scaled FACTOR=4.0"]
    rows = data["panes"]["ptx"]["rows"]
    differing = [i for i in range(0, len(rows), 3) if rows[i + 2] > 1]
    (row,) = differing
    lines = data["panes"]["ptx"]["lines"]
    assert "0f40000000" in lines[0][rows[row]]
    assert "0f40800000" in lines[1][rows[row + 1]]
    words = ["--arch", "sm_80,sm_90", "--compiler", "ptxas,nvjitlink"]
    assert command.main(["view", "--diff", "k.ptx", *words, "-o", "a.html"]) == 0
    sides = _data(folder / "a.html")["sides"]
    assert [side["target"] for side in sides] == ["sm_80", "sm_90"]
    assert [side["compiler"].split()[0] for side in sides] == ["ptxas", "nvJitLink"]


def test_a_ptxas_by_its_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYPTX_PTXAS", raising=False)
    (folder / "mine").symlink_to(_toolchain.find_tools("ptxas")[-1])
    assert command.main(["view", "k.ptx", "--compiler", "./mine", "-o", "out.html"]) == 0
    assert _data(folder / "out.html")["compiler"].startswith("ptxas ")
    assert "PYPTX_PTXAS" not in os.environ


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["view", "nope.ptx"], "there is no file nope.ptx"),
        (["view", "viewed.py"], "name a kernel in it, as in viewed.py:gemm"),
        (["view", "viewed.py:other"], "has no kernel 'other'.*it has scaled"),
        (["view", "gone.py:x"], "there is no file gone.py"),
        (["view", "k.ptx", "k.ptx"], "one of them; --diff takes two"),
        (["view", "k.ptx", "N=3"], "sizes and template values are for kernels in Python"),
        (["view", "k.ptx", "--run"], "pyptx run runs PTX"),
        (["view", "k.ptx", "--compiler", "gcc"], "--compiler is one of best, nvjitlink"),
        (["view", "k.ptx", "--compiler", "./nothing"], "there is no such program"),
        (["view", "--diff", "k.ptx", "--run"], "it runs nothing"),
        (["view", "viewed.py:scaled", "N=64", "--run", "--arch", "sm_90"], "leave out --arch"),
        (["sass", "k.ptx", "3"], "'3' is neither an option nor a NAME=VALUE"),
    ],
)
def test_words_that_name_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert command.main(words) == 2
    shown = capsys.readouterr().err
    assert re.search(said, shown), shown
    assert shown.startswith(f"pyptx {words[0]}: ")


def test_what_the_input_has_wrong_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.ptx").write_text((folder / "k.ptx").read_text().replace("add.f32", "addd.f32"))
    assert command.main(["sass", "bad.ptx"]) == 1
    assert "PTX0602" in capsys.readouterr().err
    assert command.main(["view", "viewed.py:scaled", "N=64", "M=2"]) == 1
    assert "PTX08" in capsys.readouterr().err
    assert command.main(["view", "bad.ptx", "-o", str(folder / "no" / "page.html")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_values_of_words() -> None:
    values = named.values_of(["N=64", "T=bf16", "NAME=abc", "SHAPE=(1, 2)", "X=1.5"])
    assert values == {"N": 64, "T": pyptx.types.bf16, "NAME": "abc", "SHAPE": (1, 2), "X": 1.5}
    assert named.values_of(["N=64,128", "M=3"], 1) == {"N": 128, "M": 3}


def test_the_console_script_has_them() -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "pyptx", "view", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--diff" in done.stdout
    shown = pyptx._core.command_text(["--help"])[1]
    assert "  view" in shown
    assert "  sass" in shown
    status, _, problem = pyptx._core.command_text(["view", "x"])
    assert (status, "python -m pyptx view" in problem) == (2, True)
    assert (ROOT / "python").is_dir()
