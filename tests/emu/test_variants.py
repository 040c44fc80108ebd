# SPDX-License-Identifier: Apache-2.0
"""The emulator's code for other instruction sets of the host gives the same recorded bits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.tree import ROOT

SETS = "scalar-sm_90a or memory or carry or mma-sm_80"


@pytest.mark.parametrize("variant", ["baseline", "avx2"])
def test_recorded_bits(variant: str):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command += [str(ROOT / "tests/emu/test_vectors.py"), "-k", f"recorded_bits and ({SETS})"]
    environment = {**os.environ, "PYPTX_EMU_VARIANT": variant}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "passed" in done.stdout
