# SPDX-License-Identifier: Apache-2.0
"""The skips of a whole run are those stated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import skips
from support.tree import ROOT, TESTS

STATED = [skips.Stated("no GPU", 2), skips.Stated("no mount: *", 1, is_bound=True)]


def test_what_is_stated_is_held() -> None:
    assert list(skips.problems({"no GPU": ["a", "b"]}, STATED)) == []
    assert list(skips.problems({"no GPU": ["a", "b"], "no mount: root": ["c"]}, STATED)) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"no GPU": ["a", "b", "c"]}, "'no GPU': 3 skipped, stated are 2\n    a\n    b\n    c"),
        ({"no GPU": ["a"]}, "'no GPU': 1 skipped, stated are 2\n    a"),
        ({}, "'no GPU': 0 skipped, stated are 2"),
        (
            {"no GPU": ["a", "b"], "no mount: x": ["c"], "no mount: y": ["d"]},
            "'no mount: *': 2 skipped, stated are at most 1\n    c\n    d",
        ),
        (
            {"no GPU": ["a", "b"], "needs x": ["c"]},
            "'needs x': 1 skipped, and no such reason is stated\n    c",
        ),
    ],
)
def test_another_figure_is_named(found: dict[str, list[str]], said: str) -> None:
    assert list(skips.problems(found, STATED)) == [said]


def test_a_long_list_is_cut() -> None:
    [said] = skips.problems({"no GPU": [f"test_{i}" for i in range(20)]}, STATED)
    assert said.endswith("test_11\n    and 8 more")


def test_the_file_is_read_with_and_without_the_pages() -> None:
    pages = "the reference pages are not here"
    near, far = (skips.read(skips.STATED, has_pages=has) for has in (True, False))
    assert pages not in {row.reason for row in near}
    assert next(row.count for row in far if row.reason == pages) > 0
    assert {row.reason for row in near} - {row.reason for row in far} == set()


CONFTEST = """
from pathlib import Path
from support.skips import Skips

def pytest_configure(config):
    config.pluginmanager.register(Skips(config, Path("stated.toml").resolve()))
"""
MODULE = """
import pytest

def test_good(): pass

@pytest.mark.parametrize("i", range(3))
def test_skips(i): pytest.skip("no GPU")

@pytest.mark.xfail(reason="not yet")
def test_not_yet(): assert False
"""


@pytest.mark.parametrize(
    ("count", "words", "status"), [(3, (), 0), (2, (), 1), (2, ("-k", "skips"), 0), (2, (".",), 0)]
)
def test_a_run_is_held(count: int, words: tuple[str, ...], status: int, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = .\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(MODULE)
    (tmp_path / "stated.toml").write_text(f'[always]\n"no GPU" = {count}\n')
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)]),
            "CUDA_VISIBLE_DEVICES": "",
            "PYPTX_TESTS_WITHOUT": "",
        },
    )
    assert done.returncode == status, done.stdout + done.stderr
    if status:
        assert "skips are not those of" in done.stdout
        assert "'no GPU': 3 skipped, stated are 2" in done.stdout
        assert "test_some.py::test_skips[2]" in done.stdout
    assert (ROOT / "tests/skips.toml").is_file()
