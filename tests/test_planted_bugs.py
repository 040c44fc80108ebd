# SPDX-License-Identifier: Apache-2.0
"""Every planted bug is reported with its code and line; no correct kernel is, on any schedule."""

from __future__ import annotations

import inspect

import pytest

import planted_copies  # noqa: F401 - each registers its cases
import planted_global  # noqa: F401
import planted_matrices  # noqa: F401
import planted_reports  # noqa: F401
import planted_tensor_memory  # noqa: F401
import planted_threads  # noqa: F401
import planted_values  # noqa: F401
from planted_bugs import CASES, Planted, run
from pyptx import EmulatorError

COMPLETIONS = ("latest", "earliest", "random")
# 34 seeds by three completion policies: at least a hundred schedules.
SCHEDULES = [(seed, completion) for seed in range(34) for completion in COMPLETIONS]


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
    for seed, completion in SCHEDULES:
        run(case, kernel, seed=seed, schedule=completion)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 90
    assert len(SCHEDULES) >= 100
