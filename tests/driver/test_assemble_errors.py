# SPDX-License-Identifier: Apache-2.0
"""What an assembler refuses is shown at the author's line."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, _core, intrinsic, kernel, ptx, smem
from pyptx._errors import AssembleError, EmulatorError
from pyptx.types import f32
from support.assembling import needs_assembler


@kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), grid=(1, 1, 1), block=(1, 1, 1))
def broken(X, Y):
    ptx.comment("two lines\nof comment")
    ptx.raw("{\n\tgarbage %r1;\n}")
    ptx.ret()


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(broken.signature.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


@needs_assembler
def test_the_authors_line_is_named() -> None:
    with pytest.raises(AssembleError) as caught:
        broken.cubin()
    text = str(caught.value)
    assert f"{__file__}:{line_of('garbage')}" in text
    assert 'ptx.raw("{' in text
    assert "note: PTX line" in text
    place: Any = caught.value.diagnostics[0]
    assert place.line == line_of("garbage")


# How each compiler is made the first that is found.
COMPILERS = {
    "nvJitLink": {},
    "ptxas": {"PYPTX_NVJITLINK": "/no/such/library"},
    "the driver's JIT": {
        "PYPTX_NVJITLINK": "/no/such/library",
        "PYPTX_PTXAS": "/no/such/program",
    },
}
REFUSED = """
from pyptx import AssembleError, _core, _toolchain, kernel, ptx

@kernel(arch="sm_90a", version=(8, 0), grid=(1, 1, 1))
def broken():
    ptx.comment("two lines\\nof comment")
    ptx.raw("unheard_of %r1;")  # this line
    ptx.ret()

_toolchain.announce_folders()
try:
    print(_core.find_compiler()[0])
except AssembleError as error:
    raise SystemExit("none: " + " ".join(error.diagnostics[0].notes))
try:
    broken.cubin()
except AssembleError as error:
    found = error.diagnostics[0]
    print(found.file, found.line, found.code)
    print(error)
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_compiler_names_the_authors_line(compiler: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(REFUSED)
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, **COMPILERS[compiler]},
        capture_output=True,
        text=True,
        check=False,
    )
    # A program that died said nothing, which is no reason to skip.
    named = done.stdout.partition("\n")[0]
    if done.stderr.startswith("none: ") or (named and not named.startswith(compiler)):
        pytest.skip(f"{compiler} is not what assembles here: {done.stderr}{done.stdout[:60]}")
    assert done.returncode == 0, done.stderr
    line = 1 + next(i for i, text in enumerate(REFUSED.splitlines()) if "this line" in text)
    assert done.stdout.splitlines()[1] == f"{program} {line} PTX0602"
    assert 'ptx.raw("unheard_of %r1;")' in done.stdout
    assert "note: PTX line" in done.stdout


@needs_assembler
def test_text_from_elsewhere_has_no_python_line() -> None:
    plan = _core.LaunchPlan("broken", (1, 1, 1), (1, 1, 1))
    other = broken.ptx() + "\n// not what the module prints\n"
    image = _core.KernelImage(other, "sm_90a", plan, broken.module())
    with pytest.raises(AssembleError, match="PTX line") as caught:
        image.cubin()
    assert __file__ not in str(caught.value)


@intrinsic
def guess() -> None:
    """Write what no assembler takes."""
    ptx.raw("unheard_of %r1;")


@kernel(arch="sm_90a", grid=(1, 1, 1))
def guessing() -> None:
    guess()
    ptx.mbarrier.wait(smem.mbarrier(1)[0], 0)
    ptx.ret()


@needs_assembler
def test_the_expansion_is_named() -> None:
    with pytest.raises(AssembleError) as caught:
        guessing.cubin()
    notes = caught.value.diagnostics[0].notes
    assert any(note.startswith("in expansion of guess, called at") for note in notes)


def test_the_source_map_names_expansions() -> None:
    rows = guessing.ptx().splitlines()
    expansions = {
        rows[row.ptx_line - 1].split()[0]: row.expansions for row in guessing.source_map()
    }
    assert [name.split(",")[0] for name in expansions["unheard_of"]] == ["guess"]
    assert expansions["mbarrier.try_wait.parity.shared::cta.b64"] == ("ptx.mbarrier.wait(...)",)
    assert expansions["ret;"] == ()


def test_the_emulator_names_raw_text_too() -> None:
    with pytest.raises(EmulatorError) as caught:
        broken(np.zeros(1, np.float32))
    assert f"{__file__}:{line_of('garbage')}" in str(caught.value)
