# SPDX-License-Identifier: Apache-2.0
"""The line that says how long something takes, on a terminal alone; reprs of what authors hold."""

from __future__ import annotations

import io
import sys
import threading
from typing import Any

import pytest

from pyptx import Tile, _progress, kernel, ptx, reg, smem
from pyptx.types import f32, pred
from support.sample_kernels import build_vector_add


class _Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        if "s\x1b[K" in text:
            self.written.set()
        return count


def _on_terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Have a terminal; by the test itself, since pytest sets stderr between fixtures and tests."""
    made = _Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def test_it_is_shown_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _on_terminal(monkeypatch)
    monkeypatch.setattr(_progress, "QUIET", 0.0)
    with _progress.shown("assembling k") as line:
        assert terminal.written.wait(30)
        terminal.written.clear()
        line.say("something else")
        assert terminal.written.wait(30)
    text = terminal.getvalue()
    assert text.startswith("\rassembling k: 0 s")
    assert "something else: " in text
    assert text.endswith("\r\x1b[K")


def test_what_is_done_soon_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _on_terminal(monkeypatch)
    with _progress.shown("quick"):
        pass
    assert terminal.getvalue() == ""


def test_elsewhere_it_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(_progress, "QUIET", 0.0)
    before = threading.active_count()
    with _progress.shown("assembling k"):
        assert threading.active_count() == before
    assert out.getvalue() == ""


def test_an_error_takes_the_line_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _on_terminal(monkeypatch)
    monkeypatch.setattr(_progress, "QUIET", 0.0)

    def fail() -> None:
        with _progress.shown("assembling k"):
            assert terminal.written.wait(30)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_assembling_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    shown = _progress.shown

    def noted(what: str) -> Any:
        seen.append(what)
        return shown(what)

    monkeypatch.setattr(_progress, "shown", noted)
    k = build_vector_add()
    k.cubin(N=128)
    k.report(N=128)
    assert seen == ["assembling vector_add", "assembling vector_add"]


def test_reprs_say_what_things_are() -> None:
    shown: dict[str, str] = {}

    @kernel(in_specs=(Tile(32, f32),), grid=(1,), block=(32, 1, 1), arch="sm_90a")
    def k(X):
        (px,) = ptx.global_ptrs(X)
        tile = smem.alloc(f32, (4, 8, 8), swizzle="32B", name="tile")
        bars = smem.mbarrier(4, name="full")
        guard = reg.scalar(pred)
        things = {
            "alloc": tile,
            "slice": tile[1],
            "bars": bars,
            "bar": bars[1],
            "array": reg.array(f32, 4),
            "long": reg.array(f32, 64),
            "not": ~guard,
            "address": ptx.addr(px, 4),
            "ring": ptx.pipeline(4),
        }
        shown.update({name: repr(thing) for name, thing in things.items()})
        ptx.ret()

    k.ptx()
    assert shown["alloc"] == "<SharedAlloc tile f32[4, 8, 8] swizzle 32B at 0>"
    assert shown["slice"] == "<SharedSlice tile f32[8, 8] swizzle 32B at 256>"
    assert shown["bars"] == "<MbarrierArray full[4] at 1024>"
    assert shown["bar"] == "<MbarrierRef full>"
    assert shown["array"] == "<RegArray f32[4] %f0, %f1, %f2, %f3>"
    assert shown["long"] == "<RegArray f32[64] %f4, ..., %f67>"
    assert shown["not"] == "<NegPred !%p0>"
    assert shown["address"] == "<Address with offset 4>"
    assert shown["ring"].startswith("<Pipeline of 4 stages, stage %r")
