# SPDX-License-Identifier: Apache-2.0
"""The packages that tests need. One that is pinned has to be there: without it a test fails.

An environment that is without some of them says which: PYPTX_TESTS_WITHOUT=torch,jax. A test that
needs one of these is skipped where it is not installed. What is installed and does not import is
broken, and fails everywhere.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.tree import ROOT

REQUIREMENTS = ROOT / "requirements-dev.txt"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?===)")
_INCLUDE = re.compile(r"-r\s+(\S+)")


def need(name: str) -> Any:
    """Return the module `name`; skip, or fail, where it cannot be had."""
    root = name.partition(".")[0]
    if is_installed(root):
        return importlib.import_module(name)
    if root in pinned(REQUIREMENTS) and root not in without():
        raise ModuleNotFoundError(
            f"{root} is pinned in {REQUIREMENTS.name} and not installed here: install it, or say "
            f"that these tests run without it, with PYPTX_TESTS_WITHOUT={root}",
            name=root,
        )
    pytest.skip(f"needs {root}", allow_module_level=True)


def without() -> frozenset[str]:
    """What this environment says that it is without."""
    return frozenset(os.environ.get("PYPTX_TESTS_WITHOUT", "").replace(",", " ").split())


def is_installed(root: str) -> bool:
    """Whether a package is there, be it broken; a folder without a module of its own is none."""
    if root in sys.modules and sys.modules[root] is None:
        return False  # as a test has said
    found = importlib.util.find_spec(root)
    return found is not None and found.origin is not None


@functools.cache
def pinned(requirements: Path) -> frozenset[str]:
    """Return the names of what a file of requirements pins, as they are imported."""
    return frozenset(_pinned(requirements))


def _pinned(requirements: Path) -> Iterator[str]:
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if include := _INCLUDE.match(line):
            yield from _pinned(requirements.parent / include[1])
        elif name := _NAME.match(line):
            yield name[0].replace("-", "_").lower()
