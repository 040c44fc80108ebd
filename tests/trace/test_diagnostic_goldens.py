# SPDX-License-Identifier: Apache-2.0
"""What Python refuses, as it is shown: scripts of tests/files/diagnostics end in it.

`trace` is about tracing, `library` about pyptx.kernels, `tune` about tuning, `calls` about kernels
and their calls, `testing` about pyptx.testing, `layout` about pictures.

The rendering and the JSON lie beside the script; PYPTX_UPDATE_GOLDENS=1 writes them anew. That
every kind of diagnostic has a golden is checked in tests/unit/diag/golden_test.cpp.
"""

from __future__ import annotations

import os
import runpy
import warnings
from pathlib import Path

import pytest

from pyptx import Error, TraceWarning
from support.tree import TESTS

NAMES = ("trace", "library", "tune", "calls", "testing", "layout")
FOLDERS = [TESTS / "files" / "diagnostics" / name for name in NAMES]
SCRIPTS = sorted(script for folder in FOLDERS for script in folder.glob("*.py"))


def check(golden: Path, shown: str) -> None:
    if "PYPTX_UPDATE_GOLDENS" in os.environ:
        golden.write_text(shown)
    assert shown == golden.read_text()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_rendering(script: Path) -> None:
    with warnings.catch_warnings(), pytest.raises((Error, TraceWarning)) as caught:
        runpy.run_path(str(script))
    found = caught.value
    findings = [found.diagnostic] if isinstance(found, TraceWarning) else found.diagnostics
    assert script.stem[:7] in [finding.code for finding in findings]
    folder = f"{script.parent}{os.sep}"
    check(script.with_suffix(".txt"), str(caught.value).replace(folder, "") + "\n")
    lines = [finding.to_json().replace(folder, "") + "\n" for finding in findings]
    check(script.with_suffix(".json"), "".join(lines))


def test_no_golden_is_without_its_script() -> None:
    found = {path.stem for folder in FOLDERS for path in folder.iterdir()}
    assert found == {path.stem for path in SCRIPTS}
