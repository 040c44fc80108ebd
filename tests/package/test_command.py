# SPDX-License-Identifier: Apache-2.0
"""The `pyptx` command as users run it: the planted errors, JSON, fmt, explain, isa."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from link_package import link
from support.tree import TESTS

PLANTED = TESTS / "files/planted.ptx"
# Line, code, and the text under the caret.
MISTAKES = [
    (14, "PTX0202", ".f33"),
    (15, "PTX0206", "%r1"),
    (16, "PTX0203", "fma.f32"),
    (17, "PTX0207", "{%f4, %f5, %f6}"),
    (18, "PTX0103", "%f9"),
    (20, "PTX0302", "mbarrier.try_wait.parity.shared.b64"),
    (21, "PTX0204", "shfl.sync.bfly.b32 %r3, %r4, 1;"),
    (23, "PTX0302", "wgmma.fence.sync.aligned"),
]


def pyptx(*words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyptx", *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_a_checkout_has_the_command_of_the_documents(tmp_path: Path) -> None:
    link(tmp_path, tmp_path)
    assert (tmp_path / "pyptx.pth").read_text(encoding="utf-8").strip() in sys.path
    words = ["isa", "nanosleep"]
    command = [str(tmp_path / "pyptx"), *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == pyptx(*words).stdout
    broken = subprocess.run([command[0], "no such"], capture_output=True, text=True, check=False)
    assert broken.returncode == pyptx("no such").returncode == 2


def test_every_planted_error_is_shown_with_its_place_and_manual_section() -> None:
    result = pyptx("check", "--json", str(PLANTED))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    errors = [one for one in found if one["severity"] == "error"]
    lines = PLANTED.read_text(encoding="ascii").splitlines()
    seen = [
        (
            one["line"],
            one["code"],
            lines[one["line"] - 1][one["column"] - 1 : one["end_column"] - 1],
        )
        for one in errors
    ]
    assert result.returncode == 1
    assert seen == MISTAKES
    assert all(one["manual"] for one in errors if one["code"] >= "PTX0200")


def test_the_text_has_carets_and_remedies() -> None:
    result = pyptx("check", "--color", "never", str(PLANTED))
    assert result.returncode == 1
    for line, code, _ in MISTAKES:
        assert f"error[{code}]" in result.stdout
        assert f"planted.ptx:{line}:" in result.stdout
    assert "^^^^" in result.stdout
    assert "ld.global.f32" in result.stdout  # the nearest legal spelling
    assert "8 errors" in result.stdout


@pytest.mark.parametrize("code", sorted({code for _, code, _ in MISTAKES}))
def test_explain_tells_the_rest(code: str) -> None:
    result = pyptx("explain", code)
    assert result.returncode == 0
    assert code in result.stdout
    assert len(result.stdout.splitlines()) > 5


def test_fmt_is_idempotent_and_reads_standard_input() -> None:
    text = ".version 8.0 .target sm_90a\n.address_size 64\n.entry k(){ /* why */ ret;}"
    once = pyptx("fmt", "-", text=text)
    assert once.returncode == 0
    assert "why" in once.stdout
    assert pyptx("fmt", "-", text=once.stdout).stdout == once.stdout


def test_isa_answers() -> None:
    result = pyptx("isa", "mma.sync.aligned.m16n8k16")
    assert result.returncode == 0
    assert "mma.sync.aligned" in result.stdout


ENDLESS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry endless()
{
LOOP:
    bra LOOP;
}
"""


def test_ctrl_c_ends_a_run(tmp_path: Path) -> None:
    """As a shell does it: SIGINT to the process, whose exit status says so."""
    file = tmp_path / "endless.ptx"
    file.write_text(ENDLESS)
    process = subprocess.Popen(
        [sys.executable, "-m", "pyptx", "run", str(file)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(1.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
