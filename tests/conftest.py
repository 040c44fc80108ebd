# SPDX-License-Identifier: Apache-2.0
"""Shared by all Python tests: the package from the tree, their own cache, a bound on skips."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import pytest

from support.skips import Skips

_ROOT = Path(__file__).resolve().parents[1]
if importlib.util.find_spec("pyptx") is None:
    sys.path.insert(0, str(_ROOT / "python"))
    # For the processes that tests start.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(_ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
pytest_plugins = ["pyptx._testing.plugin"]  # as where the package is installed
os.environ.setdefault("PYPTX_CACHE_DIR", tempfile.mkdtemp(prefix="pyptx-test-cache-"))
# A program of JAX runs a few times here, so that what XLA would polish is time lost.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


def pytest_configure(config: pytest.Config) -> None:
    """Hold a whole run to the skips that are stated."""
    config.pluginmanager.register(Skips(config))
