# SPDX-License-Identifier: Apache-2.0
"""Kernels that are declared as programmatic dependent launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import u32

WORDS = 64
X = np.arange(WORDS, dtype=np.uint32)


def build(waits: str, **declared: Any) -> Any:
    @kernel(
        in_specs=(Tile(WORDS, u32),), out_specs=(Tile(WORDS, u32),), block=(WORDS, 1, 1), **declared
    )
    def stage(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        ptx.inst.griddepcontrol.launch_dependents()
        if waits == "first":
            ptx.inst.griddepcontrol.wait()
        value = reg.scalar(u32)
        ptx.inst.ld.global_.u32(value, ptx.addr(px + at))
        if waits == "late":
            ptx.inst.griddepcontrol.wait()
        ptx.inst.st.global_.u32(ptx.addr(py + at), value + 1)
        ptx.ret()

    return stage


def test_a_saved_kernel_stays_programmatic(tmp_path: Path) -> None:
    texts = []
    for programmatic in (False, True):
        stage = build("first", programmatic=programmatic)
        assert (stage(X) == X + 1).all()
        path = tmp_path / f"{programmatic}.pyptx"
        stage.save(path, X)
        assert (pyptx.load(path)(X) == X + 1).all()
        texts.append(path.read_bytes())
    assert b" s:0,1 t:2" in texts[1]
    assert b" s:0 t:2" in texts[0]


def test_one_that_never_waits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"programmatic=True needs griddepcontrol\.wait") as caught:
        build("never", programmatic=True)(X)
    assert isinstance(caught.value, pyptx.Error)
    assert caught.value.diagnostics[0].code == "PTX0855"
    with pytest.raises(TypeError, match="programmatic is True or False, not 1") as caught:
        build("first", programmatic=1)
    assert caught.value.diagnostics[0].code == "PTX0867"


def test_emulated_in_a_stream_it_is_what_it_is_declared() -> None:
    def behind_another(**options: Any) -> Any:
        stream = pyptx.EmulatorStream()
        y = build("first").emulate(X, stream=stream)
        return late.emulate(y, stream=stream, **options)

    late = build("late", programmatic=True)
    with pytest.raises(pyptx.EmulatorError) as caught:
        behind_another()
    assert caught.value.diagnostics[0].code == "PTX0943"
    assert (behind_another(programmatic=False) == X + 2).all()
    assert (late.emulate(X) == X + 1).all()  # without a stream nothing is before it
    late = build("first", programmatic=True)
    assert (behind_another() == X + 2).all()
