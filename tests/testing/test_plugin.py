# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: options, marker and fixtures, in runs of pytest inside of this one."""

from __future__ import annotations

import importlib
import re
import tomllib
from typing import Any

import pytest

from support.tree import ROOT

pytest_plugins = ["pytester"]

PLUGIN = "pyptx._testing.plugin"
# What a check did, without running a kernel: the settings that hold where it is called.
SHOWN = """
import pytest
from pyptx._testing.settings import current

def shown():
    print("now", current().schedules, current().seed, current().checks, current().frameworks)

def test_plain():
    shown()

@pytest.mark.pyptx(schedules=50)
class TestMarked:
    def test_class(self):
        shown()

    @pytest.mark.pyptx(seed=9, checks="basic")
    def test_method(self, pyptx_rng):
        shown()
        print("drawn", pyptx_rng.integers(0, 1000))
"""


def settings_of(pytester: Any, *options: str) -> list[str]:
    pytester.makepyfile(SHOWN)
    result = pytester.runpytest_inprocess("-s", "-p", PLUGIN, *options)
    result.assert_outcomes(passed=3)
    return re.findall(r"now .*", result.stdout.str())


def test_the_entry_point_is_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (module,) = project["entry-points"]["pytest11"].values()
    assert module == PLUGIN
    assert hasattr(importlib.import_module(module), "pytest_addoption")


def test_defaults_options_and_markers(pytester: Any) -> None:
    assert settings_of(pytester) == [
        "now 6 0 races None",
        "now 50 0 races None",
        "now 50 9 basic None",
    ]
    assert settings_of(pytester, "--pyptx-schedules", "2", "--pyptx-seed=4") == [
        "now 2 4 races None",
        "now 50 4 races None",
        "now 50 9 basic None",
    ]


def test_the_configuration_file(pytester: Any) -> None:
    pytester.makeini("[pytest]\npyptx_schedules = 30\npyptx_checks = basic\n")
    assert settings_of(pytester)[0] == "now 30 0 basic None"
    shown = settings_of(pytester, "--pyptx-schedules=3", "--pyptx-frameworks=numpy,jax")
    assert shown[0] == "now 3 0 basic ('numpy', 'jax')"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--pyptx-schedules=0", "a number from 1 on, not '0'"),
        ("--pyptx-seed=x", "a number from 0 on, not 'x'"),
        ("--pyptx-checks=all", "'races' or 'basic', not 'all'"),
        ("--pyptx-frameworks=numpy,numba", "not 'numpy,numba'"),
    ],
)
def test_options_that_are_none(pytester: Any, option: str, words: str) -> None:
    result = pytester.runpytest_inprocess("-p", PLUGIN, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{words}*"])


def test_a_marker_that_is_none(pytester: Any) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.pyptx(seeds=3)\ndef test_it(): pass\n")
    result = pytester.runpytest_inprocess("-p", PLUGIN)
    assert result.ret != pytest.ExitCode.OK
    assert "the marker is pyptx(schedules=, seed=, checks=, frameworks=)" in result.stdout.str() + (
        result.stderr.str()
    )


def test_a_failure_shows_the_report_and_none_of_our_frames(pytester: Any) -> None:
    pytester.makepyfile(
        "from support.checked_kernels import turn\n"
        "def test_it(pyptx_check):\n"
        "    pyptx_check(turn, lambda x: x, shapes={'M': 1}, frameworks='numpy')\n"
    )
    result = pytester.runpytest_inprocess("-p", PLUGIN, "--pyptx-seed=3")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "pyptx: schedules 6, seed 3, checks races",
            "E *CheckError: error?PTX0960?: kernel 'turn': output 'Y' is wrong in 64 of 64 *",
            "E * run it alone: pyptx.testing.check(turn, <lambda>, *seeds=3, *",
        ]
    )
    assert "python/pyptx/testing.py" not in result.stdout.str()
