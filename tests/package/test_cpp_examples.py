# SPDX-License-Identifier: Apache-2.0
"""The examples in C++ print what their Python versions print, byte for byte, run and are right."""

from __future__ import annotations

import hashlib
import re
import subprocess

import pytest

from pyptx import _core, _toolchain
from support.assembling import needs_assembler
from support.example_modules import example
from support.packages import need
from support.tree import ROOT

FOLDER = ROOT / "build/release/examples/cpp"


@pytest.fixture(autouse=True)
def _as_the_programs_are(monkeypatch):
    """Source lines differ by nature, two files in two languages."""
    monkeypatch.setenv("PYPTX_LINEINFO", "0")


def run(name, *words, **options):
    program = FOLDER / name
    if not program.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    words = [program, *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def printed(name, *words):
    done = run(name, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("columns", [32, 96, 1024])
def test_rms_norm(columns):
    text = example("hopper/rms_norm").build_rms_norm(64, columns).ptx()
    assert printed("rms_norm", "--ptx", 64, columns) == text


@needs_assembler
def test_what_rms_norm_costs_is_what_it_costs_in_python(monkeypatch):
    _toolchain.announce_folders()
    compiler, path = _core.find_compiler()  # one for both
    disassembler = _toolchain.find_tool("nvdisasm")
    if disassembler is None:
        pytest.skip("needs nvdisasm")
    monkeypatch.setenv("PYPTX_NVDISASM", str(disassembler))
    monkeypatch.setenv(f"PYPTX_{compiler.split()[0].upper()}", path)
    report = example("hopper/rms_norm").build_rms_norm(64, 256).report()
    lines = printed("rms_norm", "--report", 64, 256).splitlines()
    assert lines[:6] == str(report).splitlines()[:6]
    assert "SASS" in lines[5]
    monkeypatch.setenv("PYPTX_LINEINFO", "1")
    lines = printed("rms_norm", "--report", 64, 256).splitlines()
    assert sum(int(re.search(r"(\d+) SASS", line)[1]) for line in lines[6:]) > 100


@pytest.mark.parametrize("columns", [4, 500, 512, 1024])
def test_softmax(columns):
    text = example("hopper/softmax").build_softmax(64, columns).ptx()
    assert printed("softmax", "--ptx", 64, columns) == text


@pytest.mark.parametrize("size", [(32, 32, 32), (33, 70, 45)])
def test_tiled_matmul(size):
    m, n, k = size
    text = example("tiled_matmul").build_tiled_matmul().ptx(M=m, N=n, K=k)
    assert printed("tiled_matmul", "--ptx", *size) == text


@pytest.mark.parametrize("size", [(16, 16, 16), (32, 48, 64)])
def test_mma_tile(size):
    m, n, k = size
    text = example("ampere/mma_tile").build_mma_tile().ptx(M=m, N=n, K=k)
    assert printed("mma_tile", "--ptx", *size) == text


@pytest.mark.parametrize("tma", ["value", "pointer"])
@pytest.mark.parametrize("size", [(256, 256, 256), (100, 72, 40), (130, 129, 200), (1, 1, 8)])
def test_gemm(size, tma):
    m, n, k = size
    text = example("hopper/gemm").build_gemm(tma=tma).ptx(M=m, N=n, K=k)
    assert printed("gemm", "--ptx", *size, f"--{tma}") == text


@pytest.mark.parametrize(
    ("size", "is_causal"), [((2, 300, 64), True), ((1, 128, 128), False), ((1, 1, 64), True)]
)
def test_attention(size, is_causal):
    heads, length, depth = size
    kernel = example("hopper/attention").build_attention(depth, causal=is_causal)
    words = [] if is_causal else ["--full"]
    assert printed("attention", "--ptx", *size, *words) == kernel.ptx(H=heads, S=length)


# Every program against float64, on random inputs of its own: how often it says so.
RUNS = {
    ("vector_add",): 3,
    ("rms_norm", 5, 96): 1,
    ("softmax", 3, 1000): 1,
    ("block_sum",): 3,
    ("tiled_matmul", 33, 70, 45): 1,
    ("mma_tile", 32, 48, 64): 1,
    ("gemm", 130, 129, 200): 1,
    ("gemm", "--pointer", 1, 1, 8): 1,
    ("attention", 2, 200, 64): 1,
    ("attention", "--full", 1, 130, 128): 1,
    ("attention", 1, 1, 64): 1,
}


def runs_here():
    """Whether the first GPU has what all of them need."""
    torch = need("torch")
    return torch.cuda.is_available() and torch.cuda.get_device_capability(0) == (9, 0)


@pytest.mark.parametrize("words", RUNS, ids=lambda words: "-".join(map(str, words)))
def test_program_is_right(words):
    out = printed(*words)
    assert out.count("largest error against float64") == RUNS[words]
    assert "WRONG" not in out
    assert ("(emulator)" in out) is not runs_here()


def test_what_cannot_be_traced_is_an_error_on_its_line():
    """A gemm whose rows are longer than an instruction's literal: no text, one diagnostic."""
    # A compiler that is given a relative path says a relative one: the source is read from there.
    done = run("gemm", "--ptx", 128, 1 << 40, 64, cwd=ROOT / "build/release")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[PTX" in done.stderr
    assert re.search(r"gemm\.h:\d+:\d+\n", done.stderr)
    assert "ptx::inst::mul.wide.u32(start, at_row, size.n * 4);" in done.stderr
    assert re.search(r"\| {44}\^{10}\n", done.stderr), "under the operand"


@pytest.mark.parametrize("tma", ["value", "pointer"])
def test_launch_without_python(tma, tmp_path):
    """The kernel written in C++ and one saved by Python, each compared with float64."""
    path = tmp_path / "gemm.pyptx"
    example("hopper/gemm").build_gemm(tma=tma).save(path, M=200, N=72, K=136)
    done = run("launch", path)
    assert done.returncode == 0, done.stderr
    for kernel_name, count in (("rms_norm", 1), ("scale", 2), ("gemm", 1)):
        assert done.stdout.count(f"{kernel_name} on ") == count
    assert done.stdout.count("largest error") == 4
    assert "WRONG" not in done.stdout


def test_launch_says_what_is_wrong(tmp_path):
    """A damaged file, no GEMM at all, and one that multiplies wrongly."""
    path = tmp_path / "gemm.pyptx"
    example("hopper/gemm").build_gemm().save(path, M=64, N=64, K=128)
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    done = run("launch", path)
    assert done.returncode == 1
    assert "error[PTX0806]" in done.stderr
    assert str(path) in done.stderr

    example("hopper/rms_norm").build_rms_norm(4, 64).save(path)
    done = run("launch", path)
    assert done.returncode == 1
    assert "does not multiply" in done.stderr

    head, _, body = good.partition(b"\n")
    assert b"setp.ne" in body
    body = body.replace(b"setp.ne", b"setp.eq", 1)  # each product but the first overwrites
    words = head.split(b" ")
    words[3] = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b" ".join(words) + b"\n" + body)
    done = run("launch", path)
    assert done.returncode == 1
    assert "WRONG" in done.stdout
