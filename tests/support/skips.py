# SPDX-License-Identifier: Apache-2.0
"""Skips are bounded: a whole run on a machine without a GPU skips what tests/skips.toml says.

A test that begins to skip, because something does not import or is not found any more, looks as
green as one that passes. So the figure stands in the tree, by reason, and another one fails the run
and names the tests. A run of a part, one with a GPU, and one in an environment that says that it is
without some package (support/packages.py) are not held to it.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.packages import without
from support.seed_pages import PAGES
from support.tree import ROOT, TESTS

STATED = TESTS / "skips.toml"
MOST_SHOWN = 12
_PARTS = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")


class Stated(NamedTuple):
    """How many tests skip for a reason: so many, or at most."""

    reason: str
    count: int
    is_bound: bool = False


def read(path: Path, *, has_pages: bool) -> list[Stated]:
    """Return what a file states, for a checkout with or without the reference pages beside it."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    sections = ["always", "with_pages" if has_pages else "without_pages"]
    exact = [Stated(*row) for name in sections for row in table.get(name, {}).items()]
    return exact + [Stated(*row, is_bound=True) for row in table.get("machine", {}).items()]


def problems(found: Mapping[str, Sequence[str]], stated: Sequence[Stated]) -> Iterator[str]:
    """Yield what differs: `found` has the tests of each reason."""
    unknown = dict(found)
    for reason, count, is_bound in stated:
        tests = [test for given in found if fnmatchcase(given, reason) for test in found[given]]
        for given in [given for given in unknown if fnmatchcase(given, reason)]:
            del unknown[given]
        if len(tests) > count or (len(tests) < count and not is_bound):
            bound = "at most " if is_bound else ""
            yield f"{reason!r}: {len(tests)} skipped, stated are {bound}{count}{_listed(tests)}"
    for reason, tests in unknown.items():
        yield f"{reason!r}: {len(tests)} skipped, and no such reason is stated{_listed(tests)}"


def _listed(tests: Sequence[str]) -> str:
    more = len(tests) - MOST_SHOWN
    shown = [*tests[:MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]
    return "".join(f"\n    {test}" for test in shown)


class Skips:
    """Counts what a run skips, and holds it to what is stated."""

    def __init__(self, config: pytest.Config, stated: Path = STATED) -> None:
        self._config = config
        self._stated = stated
        self._found: dict[str, list[str]] = defaultdict(list)
        self._verdict: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that skips."""
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that skips."""
        self._note(report)

    def _note(self, report: Any) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
            self._found[reason].append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a run that is otherwise green."""
        if exitstatus != pytest.ExitCode.OK or not self._is_held():
            return
        self._verdict = list(problems(self._found, read(self._stated, has_pages=PAGES.is_dir())))
        if self._verdict:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _is_held(self) -> bool:
        options = self._config.option
        is_whole = self._config.args_source is pytest.Config.ArgsSource.TESTPATHS
        is_whole &= not any(getattr(options, name, None) for name in _PARTS)
        return is_whole and not options.collectonly and not without() and not _has_gpu()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what differs, behind everything else."""
        if self._verdict:
            where = self._stated.relative_to(ROOT) if self._stated.is_relative_to(ROOT) else ""
            terminalreporter.section(f"skips are not those of {where or self._stated}", red=True)
            terminalreporter.write_line("\n".join(self._verdict))


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())
