# SPDX-License-Identifier: Apache-2.0
"""Shared by all Python tests: the package from the tree, and a cubin cache of their own."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
if importlib.util.find_spec("pyptx") is None:
    sys.path.insert(0, str(_ROOT / "python"))
    # For the processes that tests start.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(_ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
os.environ.setdefault("PYPTX_CACHE_DIR", tempfile.mkdtemp(prefix="pyptx-test-cache-"))
