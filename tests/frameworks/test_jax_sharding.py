# SPDX-License-Identifier: Apache-2.0
"""Kernels on eight devices: virtual ones of the CPU platform, so in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.packages import need

need("jax")

from support import jax_on_eight_devices  # noqa: E402
from support.example_modules import EXAMPLES  # noqa: E402

PROGRAM = Path(jax_on_eight_devices.__file__)


def run(*words: object) -> str:
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    return dict(json.loads(run(PROGRAM)))


@pytest.mark.parametrize("check", jax_on_eight_devices.CHECKS)
def test_eight_devices_agree_with_one(check: str, results: dict[str, str]) -> None:
    assert results[check] == ""


def test_training_brings_the_loss_down() -> None:
    out = run(EXAMPLES / "hopper/train_sharded.py", "--steps", 12, "--devices", 8)
    assert out.startswith("8 x cpu")
    assert "after 12 steps" in out
