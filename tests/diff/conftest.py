# SPDX-License-Identifier: Apache-2.0
"""Our judge, for the tests of this folder."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from certify.verdict import Verdict, find_verdict  # noqa: E402


@pytest.fixture(scope="session")
def verdict() -> Verdict:
    """The built verdict program, which `make test` builds before these tests."""
    program = find_verdict(ROOT)
    if program is None:
        pytest.skip("needs the verdict program (make tests-cpp)")
    return Verdict(program)
