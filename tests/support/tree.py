# SPDX-License-Identifier: Apache-2.0
"""Where things are in the tree."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
