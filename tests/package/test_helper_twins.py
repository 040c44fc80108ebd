# SPDX-License-Identifier: Apache-2.0
"""Every helper writes the same text in C++ and in Python, byte for byte."""

from __future__ import annotations

import re
import subprocess

import pytest

from apidocs.cpp_pages import read_reference
from support import helper_twins
from support.tree import ROOT

SOURCE = ROOT / "tests/install/twins.cpp"
# Held to the golden that Python's text is held to (tests/trace/test_both_surfaces.py).
GOLDENS = ROOT / "tests/unit/author/blocks_test.cpp"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the program of C++ prints, by the name of the kernel; built from the tree's library."""
    build = ROOT / "build/release"
    program = tmp_path_factory.mktemp("twins") / "twins"
    layers = ("author", "build", "syntax", "verify", "ir", "isa", "layout", "diag", "support")
    built = subprocess.run(
        ["g++", "-std=c++20", f"-I{ROOT}/include", f"-I{build}/generated/include", str(SOURCE),
         "-o", str(program), f"-L{build}", *(f"-lpyptx_{layer}" for layer in layers)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^== (\w+)\n", said, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_both_have_the_same_kernels(texts: dict[str, str]) -> None:
    assert list(texts) == list(helper_twins.TWINS)


@pytest.mark.parametrize("name", helper_twins.TWINS)
def test_the_texts_are_equal(
    texts: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    assert texts[name] == helper_twins.text(name)


def test_every_helper_of_cpp_is_among_them() -> None:
    """Functions of pyptx::ptx, pyptx::reg and pyptx::smem, as the headers declare them."""
    sources = [path for path in (SOURCE, GOLDENS) if path.is_file()]
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    code = code.replace("tc::", "ptx::tcgen05::")
    missing = [
        name
        for header in read_reference(ROOT / "include").headers["author"]
        for entry in header.entries
        if entry.namespace.startswith(("pyptx::ptx", "pyptx::reg", "pyptx::smem"))
        if not entry.is_type and "using" not in entry.code[0]
        for name in entry.qualified()
        if not re.search(rf"\b{name}\(", code)
    ]
    # A list is of calls, which no kernel here makes; an assertion names its file; what shows a
    # tile is no part of a text.
    assert set(missing) == {"ptx::list", "ptx::assert_", "ptx::show"}
