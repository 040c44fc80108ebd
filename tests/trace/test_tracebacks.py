# SPDX-License-Identifier: Apache-2.0
"""What an author is shown of an error: lines of the author's, and none of the package's."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, intrinsic, kernel, parse, ptx, reg, verify
from pyptx.types import f32, u32

PACKAGE = str(Path(pyptx.__file__).parent)
X = np.zeros(4, dtype=np.float32)


@intrinsic
def wrong_sum(x: Any) -> None:
    ptx.inst.add.f32(x, x, reg.scalar(u32))


@kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), grid=(1,))
def refused(X: Any, Y: Any) -> None:
    wrong_sum(reg.scalar(f32))


@kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), grid=(1,))
def divides(X: Any, Y: Any, *, by: int = 0) -> None:
    reg.scalar(u32, 1 // by)


@kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), grid=lambda: 1 // 0)
def nowhere(X: Any, Y: Any) -> None:
    ptx.ret()


CALLS: list[tuple[Callable[[], object], list[str]]] = [
    (lambda: refused.ptx(), ["<lambda>", "refused", "wrong_sum"]),
    (lambda: refused(X), ["<lambda>", "refused", "wrong_sum"]),
    (lambda: refused.emulate(X), ["<lambda>", "refused", "wrong_sum"]),
    (lambda: divides.module(), ["<lambda>", "divides"]),
    (lambda: divides(X, by=0), ["<lambda>", "divides"]),
    (lambda: nowhere(X), ["<lambda>", "<lambda>"]),
    (lambda: refused(X, X), ["<lambda>"]),
    (lambda: refused(X.astype(np.float64)), ["<lambda>"]),
    (lambda: parse("mov"), ["<lambda>"]),
    (lambda: verify(3), ["<lambda>"]),  # type: ignore[arg-type]
    (lambda: kernel(block=(1, 2, 3, 4))(refused.__wrapped__), ["<lambda>"]),
    (lambda: Tile(4, object()), ["<lambda>"]),
    (lambda: divides.bind(X, by=0), ["<lambda>", "divides"]),
]


@pytest.mark.parametrize(("call", "names"), CALLS)
def test_only_lines_of_the_author_are_shown(call: Callable[[], object], names: list[str]) -> None:
    with pytest.raises((pyptx.Error, ZeroDivisionError)) as caught:
        call()
    frames = traceback.extract_tb(caught.value.__traceback__)[1:]  # this function's own
    assert [frame.name for frame in frames] == names
    assert all(frame.filename == __file__ for frame in frames)
    shown = str(caught.getrepr(style="native"))
    assert PACKAGE not in shown.replace(str(Path(__file__).parent), "")


def test_all_frames_are_there_for_the_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_TRACEBACK", "whole")
    with pytest.raises(pyptx.VerifyError) as caught:
        refused.ptx()
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert any(name.startswith(PACKAGE) for name in files)


def test_a_mistake_of_the_package_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyptx._core.parse", None)
    with pytest.raises(TypeError) as caught:
        parse("")
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files[-1].startswith(PACKAGE)


def test_what_is_wrapped_is_what_it_was() -> None:
    import inspect

    assert inspect.isfunction(parse)
    assert list(inspect.signature(parse).parameters) == ["text", "file", "recover"]
    assert "def parse" in inspect.getsource(parse)
    assert parse.__module__ == "pyptx.parser"
