# SPDX-License-Identifier: Apache-2.0
"""The CMake package: installed under a prefix, found, compiled against and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import pyptx
from support.compile_errors import gcc_errors
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
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is installed."""
    build = ROOT / "build/release"
    if not (build / "CMakeCache.txt").exists():
        pytest.skip("needs build/release (make build)")
    prefix = tmp_path_factory.mktemp("prefix")
    result = run("cmake", "--install", build, "--component", "development", "--prefix", prefix)
    assert result.returncode == 0, result.stdout + result.stderr
    return prefix


@pytest.fixture(scope="module")
def consumer(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of tests/install, built against a fresh prefix."""
    out = tmp_path_factory.mktemp("consumer")
    steps = (
        ("cmake", "-S", ROOT / "tests/install", "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}"),
        ("cmake", "--build", out, "-j", "2"),
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


def test_headers_go_together_without_a_warning(consumer: Path) -> None:
    result = run(consumer.with_name("every_option"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == f"{pyptx.__version__}\n"


def test_the_licence_and_pkg_config_come_along(prefix: Path) -> None:
    assert (prefix / "share/licenses/pyptx/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    (package,) = prefix.rglob("pyptx.pc")
    words = package.read_text(encoding="utf-8")
    assert f"Version: {pyptx.__version__}\n" in words
    libraries = [word for word in words.split() if word.startswith("-lpyptx")]
    installed = {path.stem.removeprefix("lib") for path in package.parents[1].glob("libpyptx*.a")}
    assert {word.removeprefix("-l") for word in libraries} == installed


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_pkg_config_says_how_to_build(prefix: Path, tmp_path: Path, compiler: str) -> None:
    for tool in ("pkg-config", compiler):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here")
    (package,) = prefix.rglob("pyptx.pc")
    flags = {}
    for kind in ("--cflags", "--libs"):
        told = run("pkg-config", f"--with-path={package.parent}", kind, "pyptx")
        assert told.returncode == 0, told.stderr
        flags[kind] = told.stdout.split()
    source, program = tmp_path / "consumer.cpp", tmp_path / "consumer"
    source.write_bytes((ROOT / "tests/install/consumer.cpp").read_bytes())
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
    built = run(
        compiler, "-std=c++20", *warnings, *flags["--cflags"], source, "-o", program,
        *flags["--libs"],
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    result = run(program, text=GOOD)
    assert (result.returncode, result.stdout) == (0, GOOD)


def test_an_older_language_is_one_error(prefix: Path) -> None:
    for header in ("author", "launch", "pyptx"):
        result = run(
            "c++", "-std=c++17", "-fsyntax-only", f"-I{prefix}/include", "-x", "c++", "-",
            text=f"#include <pyptx/{header}.h>\nint main() {{}}\n",
        )  # fmt: skip
        assert result.returncode != 0
        assert result.stderr.count("error:") == 1
        assert "pyptx needs C++20: compile with -std=c++20" in result.stderr


def test_what_does_not_compile_says_what_is_wrong(prefix: Path) -> None:
    source = ROOT / "tests/install/misuses.cpp"
    result = run(
        "g++", "-std=c++20", "-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret",
        f"-I{prefix}/include", source,
    )  # fmt: skip
    lines = enumerate(source.read_text(encoding="utf-8").splitlines(), 1)
    expected = {number: line.split("  //: ")[1] for number, line in lines if "  //: " in line}
    assert len(expected) >= 40
    found = gcc_errors(result.stderr, source)
    assert found.keys() == expected.keys()
    wrong = {
        number: (words, found[number])
        for number, words in expected.items()
        if words not in found[number]
    }
    assert wrong == {}


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
    result = run(consumer.with_name("author"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(".version")
    assert "rsqrt.approx.f32" in result.stdout


def test_threads_trace_compose_and_emulate_at_the_same_time(consumer: Path) -> None:
    result = run(consumer.with_name("threads"))
    assert (result.returncode, result.stdout) == (0, "96 launches, 0 wrong\n")


def test_a_kernel_is_launched_with_the_package_alone(consumer: Path) -> None:
    result = run(consumer.with_name("launch"))
    assert result.returncode == 0, result.stderr
    assert "rms_norm on " in result.stdout
