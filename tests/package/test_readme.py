# SPDX-License-Identifier: Apache-2.0
"""The README's kernel is real: it traces to the text shown beside it, and it computes."""

import contextlib
import io
import re

import numpy as np

from support.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_kernel_prints_the_ptx_beside_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    (_, source), (_, shown) = BLOCKS[:2]
    path = tmp_path / "saxpy.py"  # a file, so that errors could show its lines
    path.write_text(source, encoding="utf-8")
    scope: dict = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), scope)
    assert printed.getvalue().strip() == shown.strip()
    x, y = (np.random.default_rng(seed).random(1000, np.float32) for seed in (1, 2))
    np.testing.assert_allclose(scope["saxpy"](x, y), 2 * x + y, rtol=1e-6)


def test_the_cpp_is_from_the_example():
    (shown,) = [text for language, text in BLOCKS if language == "cpp"]
    example = ROOT / "examples/cpp/rms_norm.h"
    assert shown in example.read_text(encoding="utf-8")


def test_the_files_it_names_exist():
    for target in re.findall(r"\]\((?!http)([^)]+)\)", README):
        found = list(ROOT.glob(target + "*"))
        assert found, target
