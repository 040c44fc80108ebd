# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's assembler as the judge of traced text."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from pyptx import _toolchain

needs_assembler = pytest.mark.skipif(
    _toolchain.missing_assembler() is not None, reason="no PTX assembler is installed"
)


def find_ptxas() -> str | None:
    """ptxas of the nvidia wheels, else on the path."""
    packages = Path(sysconfig.get_paths()["platlib"]) / "nvidia"
    for found in sorted(packages.glob("*/bin/ptxas")):
        return str(found)
    return shutil.which("ptxas")


def assemble(text: str, target: str, folder: Path) -> str:
    """`text`, once ptxas has accepted it for `target`."""
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas: install nvidia-cuda-nvcc")
    source = folder / "kernel.ptx"
    source.write_text(text)
    done = subprocess.run(
        [ptxas, "-arch", target, "-o", str(folder / "kernel.cubin"), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr + text
    return text
