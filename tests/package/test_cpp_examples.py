# SPDX-License-Identifier: Apache-2.0
"""The examples in C++ print what their Python versions print, byte for byte, and launch."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess

import pytest

from support.tree import ROOT

FOLDER = ROOT / "build/release/examples/cpp"


@pytest.fixture(autouse=True)
def _as_the_programs_are(monkeypatch):
    """Source lines differ by nature, two files in two languages; a script finds its folder."""
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "hopper"))


def example(name):
    """The Python example; several folders have one of that name."""
    path = ROOT / "examples" / "hopper" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"hopper_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(name, *words):
    program = FOLDER / name
    if not program.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("columns", [32, 96, 1024])
def test_rms_norm(columns):
    text = example("rms_norm").build_rms_norm(64, columns).ptx()
    assert printed("rms_norm", columns) == text


@pytest.mark.parametrize("tma", ["value", "pointer"])
@pytest.mark.parametrize("size", [(256, 256, 256), (100, 72, 40), (130, 129, 200), (1, 1, 8)])
def test_gemm(size, tma):
    m, n, k = size
    text = example("gemm").build_gemm(tma=tma).ptx(M=m, N=n, K=k)
    assert printed("gemm", *size, tma) == text


def test_block_sum():
    assert float(printed("block_sum").rpartition(" ")[2]) < 1e-5


def test_what_cannot_be_traced_is_an_error_on_its_line():
    """A gemm whose rows are longer than an instruction's literal: no text, one diagnostic."""
    program = FOLDER / "gemm"
    if not program.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    words = [program, "128", str(1 << 40), "64"]
    # A compiler that is given a relative path says a relative one: the source is read from there.
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=ROOT / "build/release"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[PTX" in done.stderr
    assert re.search(r"gemm\.cpp:\d+:\d+\n", done.stderr)
    assert "ptx::inst::mul.wide.u32(start, at_row, size.n * 4);" in done.stderr
    assert re.search(r"\| {44}\^{10}\n", done.stderr), "under the operand"


def launched(*words):
    program = FOLDER / "launch"
    if not program.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("tma", ["value", "pointer"])
def test_launch_without_python(tma, tmp_path):
    """The kernel written in C++ and one saved by Python, each compared with float64."""
    path = tmp_path / "gemm.pyptx"
    example("gemm").build_gemm(tma=tma).save(path, M=200, N=72, K=136)
    done = launched(path)
    assert done.returncode == 0, done.stderr
    for kernel_name, count in (("rms_norm", 1), ("scale", 2), ("gemm", 1)):
        assert done.stdout.count(f"{kernel_name} on ") == count
    assert done.stdout.count("largest error") == 4
    assert "WRONG" not in done.stdout


def test_launch_says_what_is_wrong(tmp_path):
    """A damaged file, no GEMM at all, and one that multiplies wrongly."""
    path = tmp_path / "gemm.pyptx"
    example("gemm").build_gemm().save(path, M=64, N=64, K=128)
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    done = launched(path)
    assert done.returncode == 1
    assert "error[PTX0806]" in done.stderr
    assert str(path) in done.stderr

    example("rms_norm").build_rms_norm(4, 64).save(path)
    done = launched(path)
    assert done.returncode == 1
    assert "does not multiply" in done.stderr

    head, _, body = good.partition(b"\n")
    assert b"setp.ne" in body
    body = body.replace(b"setp.ne", b"setp.eq", 1)  # each product but the first overwrites
    words = head.split(b" ")
    words[3] = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b" ".join(words) + b"\n" + body)
    done = launched(path)
    assert done.returncode == 1
    assert "WRONG" in done.stdout
