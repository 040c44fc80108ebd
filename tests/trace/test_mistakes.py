# SPDX-License-Identifier: Apache-2.0
"""Mistakes that authors make, and all that they are shown: the scripts of tests/files/mistakes.

Each is a short kernel with one mistake, named after it. The golden beside it holds what the script
prints and the last lines of its traceback; PYPTX_UPDATE_GOLDENS=1 writes it anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import traceback
from pathlib import Path

import pytest

from support.tree import TESTS

FOLDER = TESTS / "files" / "mistakes"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def shown_by(script: Path) -> str:
    """Return what the author sees, with the folder of the scripts taken off the paths."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(str(script))
        except Exception as error:
            printed.writelines(traceback.format_exception_only(error))
    return printed.getvalue().replace(f"{FOLDER}{os.sep}", "")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_rendering(script: Path) -> None:
    shown = shown_by(script)
    assert shown, "nothing refused the mistake"
    golden = script.with_suffix(".txt")
    if "PYPTX_UPDATE_GOLDENS" in os.environ:
        golden.write_text(shown)
    assert shown == golden.read_text()


def test_goldens_name_no_folder() -> None:
    for script in SCRIPTS:
        assert str(FOLDER.parents[2]) not in script.with_suffix(".txt").read_text(), script.name


def test_there_are_many_and_each_is_different(capsys: pytest.CaptureFixture[str]) -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {path.stem for path in SCRIPTS}
    goldens = {script.with_suffix(".txt").read_text() for script in SCRIPTS}
    assert len(goldens) == len(SCRIPTS) >= 60
    with capsys.disabled():
        print(f"\nmistakes with their rendering: {len(SCRIPTS)}")


def test_a_script_without_mistake_fails(tmp_path: Path) -> None:
    script = tmp_path / "fine.py"
    script.write_text("from pyptx import kernel, ptx\ndef k(): ptx.ret()\nkernel(k).ptx()\n")
    with pytest.raises(AssertionError, match="nothing refused"):
        test_rendering(script)
