# SPDX-License-Identifier: Apache-2.0
"""`pyptx.testing.check` finds each planted bug, says what is wrong, and how to run it again.

The messages are in tests/files/checks; PYPTX_UPDATE_GOLDENS=1 writes them anew.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import testing
from support import checked_kernels as kernels
from support.tree import TESTS

GOLDENS = TESTS / "files" / "checks"


def twice(x: Any) -> Any:
    return 2 * x


def turned(x: Any) -> Any:
    return x[:, ::-1]


def bins(rng: Any) -> Any:
    return rng.integers(0, kernels.BINS, kernels.THREADS)


def total(x: Any) -> Any:
    return x.sum(keepdims=True)


NAN = np.where(np.arange(70) == 60, np.nan, 0.0)
SIZES = {"N": testing.ragged(64)}
# By name: the code, the kernel, its reference, and what else the call says.
BUGS: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "missing_barrier": ("PTX0921", kernels.turn, turned, {"shapes": {"M": 2, "bug": "barrier"}}),
    "race": (
        "PTX0920",
        kernels.count,
        kernels.histogram,
        {"inputs": bins, "shapes": {"bug": "race"}},
    ),
    "wrong_tail": ("PTX0960", kernels.double, twice, {"shapes": {**SIZES, "bug": "tail"}}),
    "unwritten_output": (
        "PTX0940",
        kernels.double,
        twice,
        {"shapes": {**SIZES, "bug": "unwritten"}},
    ),
    "nan": ("PTX0960", kernels.double, twice, {"shapes": {"N": 64, "bug": "nan"}}),
    "nan_expected": ("PTX0960", kernels.double, lambda x: 2 * x + NAN, {"shapes": {"N": 70}}),
    "order_of_sums": ("PTX0961", kernels.add_up, total, {"inputs": ["zeros", "normal"]}),
}


def message(name: str, **more: Any) -> tuple[str, str]:
    code, kernel, reference, options = BUGS[name]
    with pytest.raises(pyptx.CheckError) as caught:
        testing.check(kernel, reference, **{"frameworks": "numpy", **options, **more})
    assert {found.code for found in caught.value.diagnostics} == {code}
    assert isinstance(caught.value, AssertionError)
    return str(caught.value).replace(f"{TESTS}{os.sep}", "") + "\n", code


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found_and_told(name: str) -> None:
    shown, _ = message(name)
    golden = GOLDENS / f"{name}.txt"
    if "PYPTX_UPDATE_GOLDENS" in os.environ:
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BUGS)
def test_the_same_without_the_bug_passes(name: str) -> None:
    _, kernel, reference, options = BUGS[name]
    shapes = {dim: size for dim, size in options.get("shapes", {}).items() if dim != "bug"}
    if name == "order_of_sums":
        options = {**options, "deterministic": False}
    if name == "nan_expected":
        reference = twice
    given = {"frameworks": "numpy", **options, "shapes": shapes}
    assert testing.check(kernel, reference, **given) >= 1


@pytest.mark.parametrize("name", [name for name in BUGS if name != "nan_expected"])
def test_the_call_that_is_told_runs_the_case_alone(name: str) -> None:
    shown, code = message(name)
    call = re.search(r"run it alone: (.*)", shown)
    known = {**vars(kernels), "pyptx": pyptx, "twice": twice, "turned": turned}
    known |= {"bins": bins, "total": total}
    with pytest.raises(pyptx.CheckError) as caught:
        eval(call[1], known)
    assert caught.value.diagnostics[0].code == code
    again = str(caught.value).replace(f"{TESTS}{os.sep}", "")
    assert again.split("\n  note: case")[0] == shown.split("\n  note: case")[0]
    assert again.endswith("failing cases: 1 of 1")


def test_no_golden_is_without_its_bug() -> None:
    assert {path.stem for path in GOLDENS.iterdir()} == set(BUGS)


def test_a_race_that_no_schedule_shows_is_judged_all_the_same() -> None:
    """The check is of order, not of luck: one schedule is enough."""
    shown, code = message("race", schedules=1)
    assert code in shown
    _, kernel, reference, options = BUGS["race"]
    with pytest.raises(pyptx.CheckError, match="PTX0960"):  # by its numbers alone
        testing.check(kernel, reference, **options, checks="basic", frameworks="numpy")
