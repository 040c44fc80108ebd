# SPDX-License-Identifier: Apache-2.0
"""Calls on the CPU look for races, unless the environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.packages import need

PROGRAM = """
import sys
import numpy as np
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import s32

@kernel(in_specs=(Tile(64, s32),), out_specs=(Tile(64, s32),), block=(64, 1, 1), arch="sm_90a")
def rotate(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    thread = reg.from_(ptx.special.tid.x(), s32)
    tile = smem.alloc(s32, (64,), name="tile")
    value = ptx.inst.ld.global_.s32(reg.scalar(s32), ptx.addr(x + thread * 4))
    tile[thread] = value  # and no barrier
    ptx.inst.st.global_.s32(ptx.addr(y + thread * 4), tile[thread & 31])
    ptx.ret()

def call(framework):
    x = np.arange(64, dtype=np.int32)
    if framework == "numpy":
        return rotate(x)
    if framework == "bound":
        return rotate.bind(x)(x)
    if framework == "torch":
        import torch
        return rotate(torch.from_numpy(x))
    if framework == "compiled":
        import torch
        return torch.compile(rotate, backend="eager", fullgraph=True)(torch.from_numpy(x))
    import jax
    return jax.block_until_ready(jax.jit(rotate)(x))

try:
    call(sys.argv[1])
    print("passed")
except Exception as error:
    print(type(error).__name__, error)
"""


def run(framework: str, tmp_path: Path, checks: str | None = None) -> str:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = {name: word for name, word in os.environ.items() if name != "PYPTX_EMU_CHECKS"}
    if checks is not None:
        environment["PYPTX_EMU_CHECKS"] = checks
    told = subprocess.run(
        [sys.executable, str(file), framework],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


@pytest.mark.parametrize("framework", ["numpy", "bound", "torch", "compiled", "jax"])
def test_a_call_finds_the_race(framework: str, tmp_path: Path) -> None:
    if framework in ("torch", "compiled"):
        need("torch")
    if framework == "jax":
        need("jax")
    assert "PTX0920" in run(framework, tmp_path)


def test_the_environment_turns_it_off(tmp_path: Path) -> None:
    assert run("numpy", tmp_path, "basic") == "passed\n"
    assert "PTX0920" in run("numpy", tmp_path, "races")


def test_other_words_are_refused(tmp_path: Path) -> None:
    told = run("numpy", tmp_path, "none")
    assert "PTX0903" in told
    assert "PYPTX_EMU_CHECKS: checks is 'races' or 'basic'" in told
