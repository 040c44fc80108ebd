# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's assembler as the judge of traced text."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest

from pyptx import _toolchain

# The release that knows all of the table. One as new as this refuses a version or a target only
# when the text is wrong.
_NEWEST_KNOWN = (13, 4)

needs_assembler = pytest.mark.skipif(
    _toolchain.missing_assembler() is not None, reason="no PTX assembler is installed"
)


@functools.cache
def _release(ptxas: Path) -> tuple[int, ...]:
    done = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"release (\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else ()


def find_ptxas() -> Path | None:
    """Return the ptxas that PYPTX_PTXAS names, else the newest there is: it knows all the text."""
    return max(_toolchain.find_tools("ptxas"), key=_release, default=None)


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
    said = done.stdout + done.stderr
    # Both are how an assembler that is older than the text puts it.
    is_unknown = re.search(r"Unsupported \.version|is not defined for option 'gpu-name'", said)
    if is_unknown and _release(ptxas) < _NEWEST_KNOWN:
        pytest.skip(f"{ptxas} is too old: {said.strip().splitlines()[0]}")
    assert done.returncode == 0, said + text
    return text
