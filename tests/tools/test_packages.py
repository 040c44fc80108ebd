# SPDX-License-Identifier: Apache-2.0
"""A pinned package that does not import is a failure, never a skip."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support import packages
from support.packages import need
from support.tree import TESTS

PINNED = "flatbuffers"


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> str:
    """A pinned package, as if it were not installed."""
    monkeypatch.setitem(sys.modules, PINNED, None)
    return PINNED


def test_every_framework_is_pinned() -> None:
    """Also what the included file of requirements has."""
    names = packages.pinned(packages.REQUIREMENTS)
    assert {"torch", "jax", "jaxlib", "numpy", "mypy", PINNED, "scikit_build_core"} <= names
    assert "nonsense" not in names


def test_what_is_installed_is_had() -> None:
    assert need("numpy.linalg").__name__ == "numpy.linalg"


def test_a_pinned_package_that_is_not_there_fails(gone: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"{gone} is pinned in .*_WITHOUT={gone}"):
        need(gone)


def test_an_environment_may_say_that_it_is_without(
    gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYPTX_TESTS_WITHOUT", f"triton,{gone}")
    with pytest.raises(pytest.skip.Exception, match=f"needs {gone}"):
        need(f"{gone}.builder")
    assert need("numpy") is sys.modules["numpy"]


@pytest.mark.parametrize("is_without", [False, True])
def test_a_package_that_does_not_import_fails(
    is_without: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package.py").write_text("import a_module_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    if is_without:
        monkeypatch.setenv("PYPTX_TESTS_WITHOUT", "broken_package")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_nobody_has"):
        need("broken_package")


def test_what_nobody_pins_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_a_folder").mkdir()  # imports, as a namespace without contents
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("only_a_folder", "no_such_package"):
        with pytest.raises(pytest.skip.Exception, match=f"needs {name}"):
            need(name)


def test_no_test_skips_what_does_not_import() -> None:
    """`need` is the one way: pytest's own also takes a broken package for a missing one."""
    word = "import" + "orskip"
    sources = [path for path in TESTS.rglob("*.py") if word in path.read_text(encoding="utf-8")]
    assert sources == []
