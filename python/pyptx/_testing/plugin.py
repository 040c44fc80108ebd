# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: how thorough checks of kernels are, from the command line and by marker.

    pytest --pyptx-schedules 100 --pyptx-seed 7

    @pytest.mark.pyptx(schedules=20)
    def test_scale(pyptx_check):
        pyptx_check(scale, lambda x: 2 * x, shapes={"N": [1, 127, 300]})

`pyptx.testing.check` itself heeds both as well. In a pytest.ini the names are `pyptx_schedules`,
`pyptx_seed`, `pyptx_checks` and `pyptx_frameworks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pyptx._testing import settings

if TYPE_CHECKING:
    import numpy as np

CHECKS = ("races", "basic")
FRAMEWORKS = ("numpy", "torch", "jax")
MARKER = "pyptx(schedules=, seed=, checks=, frameworks=): what checks of kernels do in this test"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each with a line of a configuration file."""
    usual = settings.Settings()
    group = parser.getgroup("pyptx", "checks of kernels")
    for name, meta, what in (
        ("schedules", "N", f"schedules of the emulator for each case ({usual.schedules})"),
        ("seed", "S", f"the first seed of inputs and schedules ({usual.seed})"),
        ("checks", "NAME", "what the emulator judges: 'races' (the default) or 'basic'"),
        ("frameworks", "NAMES", "how kernels are called: some of numpy,torch,jax"),
    ):
        group.addoption(f"--pyptx-{name}", metavar=meta, default=None, help=what)
        parser.addini(f"pyptx_{name}", what)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; refuse options that are none."""
    config.addinivalue_line("markers", MARKER)
    _options(config)


def pytest_report_header(config: pytest.Config) -> str:
    """Say what checks do, so that a log says how to do the same again."""
    found = {**vars(settings.Settings()), **_options(config)}
    listed = {name: value for name, value in found.items() if value is not None}
    return "pyptx: " + ", ".join(f"{name} {value}" for name, value in listed.items())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Run each test with what the command line says, and its markers behind that."""
    given = _options(item.config)
    for marker in reversed(list(item.iter_markers("pyptx"))):
        if marker.args or set(marker.kwargs) - set(vars(settings.Settings())):
            raise pytest.UsageError(f"{item.nodeid}: the marker is {MARKER}")
        given |= marker.kwargs
    with settings.changed(**given):
        yield


@pytest.fixture
def pyptx_check() -> Callable[..., int]:
    """Return `pyptx.testing.check`, as the options and the marker have it."""
    from pyptx import testing

    return testing.check


@pytest.fixture
def pyptx_rng() -> np.random.Generator:
    """Return random numbers from `--pyptx-seed`, the same in every run."""
    import numpy

    return numpy.random.default_rng(settings.current().seed)


def _options(config: pytest.Config) -> dict[str, Any]:
    """Return what the command line says, or else the configuration file."""
    found: dict[str, Any] = {}
    for name, lowest in (("schedules", 1), ("seed", 0)):
        text = config.getoption(f"pyptx_{name}") or config.getini(f"pyptx_{name}")
        if text:
            if not str(text).isdigit() or int(text) < lowest:
                raise pytest.UsageError(f"--pyptx-{name}: a number from {lowest} on, not {text!r}")
            found[name] = int(text)
    text = config.getoption("pyptx_checks") or config.getini("pyptx_checks")
    if text:
        if text not in CHECKS:
            raise pytest.UsageError(f"--pyptx-checks: 'races' or 'basic', not {text!r}")
        found["checks"] = text
    text = config.getoption("pyptx_frameworks") or config.getini("pyptx_frameworks")
    if text:
        names = tuple(text.replace(",", " ").split())
        if not set(names) <= set(FRAMEWORKS):
            raise pytest.UsageError(f"--pyptx-frameworks: some of {FRAMEWORKS}, not {text!r}")
        found["frameworks"] = names
    return found
