# SPDX-License-Identifier: Apache-2.0
"""Every planted bug is reported with its code and line; no correct kernel is, on any schedule."""

from __future__ import annotations

import inspect
import warnings

import pytest

from pyptx import EmulatorError, EmulatorWarning
from support.planted.bugs import Planted, run
from support.planted.cases import CASES
from support.schedules import SCHEDULES


def names(case: Planted) -> str:
    """The name of a parametrised test."""
    return case.name


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_broken_kernel_is_reported(case: Planted) -> None:
    kernel = case.build(broken=True)
    for seed, completion in SCHEDULES[:12]:
        with pytest.raises(EmulatorError) as caught:
            run(case, kernel, seed=seed, schedule=completion)
        (found,) = caught.value.diagnostics
        where = f"seed {seed}, {completion}:\n{caught.value}"
        assert found.code in case.codes, where
        assert found.file == inspect.getsourcefile(case.body), where
        assert found.line in case.guilty_lines, where


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_correct_kernel_is_not(case: Planted) -> None:
    kernel = case.build(broken=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmulatorWarning)
        for seed, completion in SCHEDULES:
            # Most cases write a part of their output, which is said of each.
            run(case, kernel, seed=seed, schedule=completion, ignore=["PTX0940"])


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 120
    assert len(SCHEDULES) >= 100
