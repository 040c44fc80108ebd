# SPDX-License-Identifier: Apache-2.0
"""Limits of a run on the emulator, as `k.emulate(limit=...)` takes them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from pyptx import EmulatorError, Tile, kernel, ptx, reg
from pyptx.types import u32

ROUNDS = 1_000_000_000  # ends by itself, after minutes


@kernel(
    in_specs=(Tile(1, dtype=u32),),
    out_specs=(Tile(1, dtype=u32),),
    grid=(1, 1, 1),
    block=(64, 1, 1),
)
def countdown(X: Any, Y: Any) -> None:
    """Counts down from the element of X."""
    px, py = ptx.global_ptrs(X, Y)
    left = reg.scalar(u32)
    ptx.inst.ld.global_.u32(left, ptx.addr(px))
    with ptx.range_(0, left):
        ptx.inst.sub.u32(left, left, 0)
    ptx.inst.st.global_.u32(ptx.addr(py), left)
    ptx.ret()


def run(rounds: int, limit: object) -> Any:
    return countdown.emulate(np.array([rounds], np.uint32), limit=limit)


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        (100_000, "PTX0950"),
        (np.int64(100_000), "PTX0950"),
        ("100000", "PTX0950"),
        ("50ms", "PTX0951"),
        (timedelta(milliseconds=50), "PTX0951"),
        ((100_000, "60s"), "PTX0950"),
        ([1 << 60, "50ms"], "PTX0951"),
    ],
)
def test_a_limit_ends_a_run(limit: object, code: str) -> None:
    with pytest.raises(EmulatorError, match=code) as caught:
        run(ROUNDS, limit)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.file == __file__
    assert len(diagnostic.notes) == 2
    assert all("block (0,0,0) warp" in note and ".py:" in note for note in diagnostic.notes)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert run(3, (100_000, "60s"))[0] == 3
    assert run(3, None)[0] == 3


@pytest.mark.parametrize("limit", [0, -1, "", "0s", "-1s", 1 << 64, "soon", "nan s", "1e9s"])
def test_no_limit(limit: object) -> None:
    with pytest.raises(ValueError, match="limit is a number of warp instructions"):
        run(3, limit)


@pytest.mark.parametrize("limit", [2.0, True, float("nan"), b"2s", object(), ({},), (2.5, "2s")])
def test_other_kinds_are_refused(limit: object) -> None:
    """A fraction too: limit=2 and limit=2.0 must not be two instructions and two seconds."""
    with pytest.raises(TypeError, match="limit is a whole number"):
        run(3, limit)
