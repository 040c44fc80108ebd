# SPDX-License-Identifier: Apache-2.0
"""The package itself: what it exports, and what importing it costs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

import pyptx
from pyptx import _core

PROMISED = [
    "kernel", "reg", "smem", "ptx", "Tile", "Layout", "differentiable_kernel", "detect_arch",
    "__version__", "Diagnostic", "Error", "PtxSyntaxError", "VerifyError", "TargetError",
    "AssembleError", "LaunchError", "EmulatorError",
]  # fmt: skip

MEASURE = """
import sys, time
start = time.process_time()
import pyptx
spent = time.process_time() - start
print(spent, *[name for name in ("torch", "jax", "numpy") if name in sys.modules])
"""


def test_what_is_promised_is_exported() -> None:
    missing = [n for n in PROMISED if not hasattr(pyptx, n) or n not in pyptx.__all__]
    assert missing == []
    errors = [getattr(pyptx, n) for n in PROMISED if n.endswith("Error")]
    assert all(issubclass(error, pyptx.Error) for error in errors)


def test_importing_is_cheap_and_takes_no_framework_along() -> None:
    def run() -> tuple[float, list[str]]:
        words = subprocess.run(
            [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True
        ).stdout.split()
        return float(words[0]), words[1:]

    runs = [run() for _ in range(3)]
    assert [names for _, names in runs] == [[], [], []]
    assert min(seconds for seconds, _ in runs) < 0.1


def test_the_extension_shows_only_its_own_symbols() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm: install binutils")
    command = [nm, "-D", "--defined-only", "--format=posix", str(_core.__file__)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = {line.split(" ")[0].split("@")[0] for line in listed.splitlines()}
    assert "PyInit__core" in names
    foreign = [name for name in names if not re.match(r"PyInit__core$|Pyptx|pyptx_shim_", name)]
    # Symbols of a C++ runtime here would replace those of the runtime that a framework uses.
    assert not foreign
