# SPDX-License-Identifier: Apache-2.0
"""The examples as modules, for the tests: see tools/record/examples.py."""

from __future__ import annotations

import sys

from support.tree import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from record.examples import EXAMPLES, example

__all__ = ["EXAMPLES", "example"]
