# SPDX-License-Identifier: Apache-2.0
"""The README's kernel is real: in both languages it traces to the text beside it; it computes."""

import contextlib
import io
import os
import re
import subprocess

import numpy as np
import pytest

from support.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def blocks(language):
    return [text for found, text in BLOCKS if found == language]


def test_the_kernel_prints_the_ptx_beside_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    (source,) = blocks("python")
    shown = blocks("")[0]
    path = tmp_path / "vector_add.py"  # a file, so that errors could show its lines
    path.write_text(source, encoding="utf-8")
    scope: dict = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), scope)
    assert printed.getvalue().strip() == shown.strip()
    x, y = (np.random.default_rng(seed).random(1000, np.float32) for seed in (1, 2))
    z = scope["vector_add"](x, y, alpha=0.5)
    np.testing.assert_allclose(z, x + 0.5 * y, rtol=1e-6)


def test_the_cpp_is_from_the_example_and_prints_the_same_ptx():
    kernel, printing = blocks("cpp")
    folder = ROOT / "examples/cpp"
    assert kernel in (folder / "vector_add.h").read_text(encoding="utf-8")
    assert printing.removeprefix("std::cout << *") in (
        folder / "course/first_kernel.cpp"
    ).read_text(encoding="utf-8").replace("examples::", "")
    program = ROOT / "build/release/examples/cpp/vector_add"
    if not program.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    printed = subprocess.run(
        [program, "--ptx", "1000"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYPTX_LINEINFO": "0"},
    )
    assert printed.stdout == blocks("")[0]


def test_the_files_it_names_exist():
    for target in re.findall(r"\]\((?!http)([^)]+)\)", README):
        found = list(ROOT.glob(target + "*"))
        assert found, target
