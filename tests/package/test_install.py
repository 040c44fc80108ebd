# SPDX-License-Identifier: Apache-2.0
"""The CMake package: installed under a prefix, found, compiled against and run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.tree import ROOT

GOOD = (
    ".version 8.0\n.target sm_90a\n.address_size 64\n\n"
    ".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n\tadd.u32 %r1, %r0, 1;  // one\n\tret;\n}\n"
)


def run(*command: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], input=text, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of tests/install, built against a fresh prefix."""
    build = ROOT / "build/release"
    if not (build / "CMakeCache.txt").exists():
        pytest.skip("needs build/release (make build)")
    prefix = tmp_path_factory.mktemp("prefix")
    out = tmp_path_factory.mktemp("consumer")
    steps = (
        ("cmake", "--install", build, "--component", "development", "--prefix", prefix),
        ("cmake", "-S", ROOT / "tests/install", "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}"),
        ("cmake", "--build", out),
    )
    for step in steps:
        result = run(*step)
        assert result.returncode == 0, result.stdout + result.stderr
    assert (prefix / "bin/pyptx").exists()
    leaked = [
        path
        for path in prefix.rglob("*.cmake")
        if str(ROOT) in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert leaked == []
    return out / "consumer"


def test_a_good_text_comes_back_byte_for_byte(consumer: Path) -> None:
    result = run(consumer, text=GOOD)
    assert (result.returncode, result.stdout) == (0, GOOD)


def test_a_bad_text_is_refused_with_its_place(consumer: Path) -> None:
    result = run(consumer, text=GOOD.replace("add.u32", "add.u33"))
    assert result.returncode == 1
    assert "PTX0202" in result.stderr
    assert "input.ptx:8" in result.stderr
    assert os.fspath(ROOT) not in result.stderr


def test_a_kernel_in_cpp_is_written_with_the_package_alone(consumer: Path) -> None:
    result = run(consumer.with_name("author"), "64")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(".version")
    assert "rsqrt.approx.f32" in result.stdout


def test_a_kernel_is_launched_with_the_package_alone(consumer: Path) -> None:
    result = run(consumer.with_name("launch"))
    assert result.returncode == 0, result.stderr
    assert "rms_norm on " in result.stdout
