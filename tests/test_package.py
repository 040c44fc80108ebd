# SPDX-License-Identifier: Apache-2.0
"""The package itself: what it exports, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pyptx

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
