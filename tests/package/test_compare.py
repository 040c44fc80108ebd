# SPDX-License-Identifier: Apache-2.0
"""`pyptx.bench.compare`: interleaving, ratios, what it shows, and what it refuses."""

from __future__ import annotations

import ctypes
import json
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from pyptx import bench
from pyptx._bench import clocks
from pyptx._bench.nvml import Sensors


class ScriptedClock:
    """A clock that says what an arm was told to take, and writes down who ran."""

    device, is_cold = "script", True

    def __init__(self, sensors: Any = None) -> None:
        self.sensors = sensors
        self.ran: list[str] = []

    def time(self, call: Any, count: int) -> float:
        name, seconds = call()
        self.ran.append(name)
        return float(seconds)


def scripted(monkeypatch: pytest.MonkeyPatch, **options: Any) -> ScriptedClock:
    clock = ScriptedClock(**options)
    monkeypatch.setattr(bench, "find_clock", lambda cold: clock)
    return clock


def test_a_slower_arm_is_slower() -> None:
    found = bench.compare(
        {"short": lambda: time.sleep(0.001), "long": lambda: time.sleep(0.004)}, rounds=5
    )
    assert found.device == "host" or found.is_cold
    assert 0.1 < found.ratio("long").median < 0.9
    assert found.ratio("short").median == 1.0
    assert 1.1 < found.ratio("short", to="long").median < 10


@pytest.mark.parametrize(("warm_up", "before"), [(0.0, 0), (None, 1)])
def test_the_work_before_the_first_round_can_be_left_out(
    monkeypatch: pytest.MonkeyPatch, warm_up: float | None, before: int
) -> None:
    clock = scripted(monkeypatch)
    bench.compare({"a": lambda: ("a", 1.0)}, "sustained", rounds=2, warm_up=warm_up)
    more = len(clock.ran) - 3 - 2  # three calls to find how many fill a sample, two rounds
    assert more >= before
    assert before or more == 0


def test_every_round_has_every_arm_in_a_drawn_order(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = scripted(monkeypatch)
    names = ["a", "b", "c", "d"]
    arms = {name: (lambda name=name: (name, 1.0)) for name in names}
    bench.compare(arms, rounds=20, seed=1)
    timed = clock.ran[3 * len(names) :]  # three calls each before
    rounds = [timed[at : at + 4] for at in range(0, len(timed), 4)]
    assert len(rounds) == 20
    assert all(sorted(each) == names for each in rounds)
    assert len({tuple(each) for each in rounds}) > 5
    again = scripted(monkeypatch)
    bench.compare(arms, rounds=20, seed=1)
    assert again.ran == clock.ran


def test_ratios_are_within_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slows down from round to round changes the times and not the ratio."""
    scripted(monkeypatch)
    speed = {"one": iter(range(1, 100)), "two": iter(range(1, 100))}
    arms = {
        "one": lambda: ("one", 1.0 * next(speed["one"])),
        "two": lambda: ("two", 2.0 * next(speed["two"])),
    }
    found = bench.compare(arms, rounds=8, baseline="two", bytes=4e12, flops={"one": 8e12})
    ratio = found.ratio("one")
    assert (ratio.low, ratio.median, ratio.high) == (2.0, 2.0, 2.0)
    one, two = found.table()
    assert one["TB/s"] == pytest.approx(4 / found["one"].spread.median)
    assert one["TFLOP/s"] == pytest.approx(2 * one["TB/s"])
    assert "TFLOP/s" not in two
    assert found["one"].spread.low < found["one"].spread.median < found["one"].spread.high


def test_what_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Constant:
        def clock(self) -> float:
            return 1500.0

        def power(self) -> float | None:
            return None

    scripted(monkeypatch, sensors=Constant())
    arms = {"a < b": lambda: ("x", 1e-4), "other": lambda: ("y", 2e-4)}
    found = bench.compare(arms, "sustained", rounds=3)
    text = str(found)
    assert "sustained, cold L2, 3 rounds on script; ratios to a < b" in text
    assert "100.00" in text
    assert "0.500" in text
    assert "1500" in text
    assert " W" not in text
    assert found.markdown().splitlines()[1].startswith("|---|---:")
    path = tmp_path / "bars.svg"
    picture = found.plot(path)
    assert path.read_text(encoding="utf-8") == picture == found._repr_html_()
    shapes = ElementTree.fromstring(picture)
    bars = [float(each.attrib["width"]) for each in shapes.iter() if each.tag.endswith("rect")]
    assert bars[1] == pytest.approx(2 * bars[0], rel=0.01)
    kept = json.loads(found.json())
    assert kept["arms"][0]["seconds"] == [1e-4] * 3


def test_an_error_names_its_arm() -> None:
    def fails() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no") as caught:
        bench.compare({"good": lambda: None, "bad": fails})
    assert caught.value.__notes__ == ["in arm 'bad' of a comparison"]


def test_what_is_refused() -> None:
    arms: dict[str, Any] = {"a": lambda: None}
    for wrong, error, message in (
        (lambda: bench.compare({}), TypeError, "at least one"),
        (lambda: bench.compare([1]), TypeError, "dict of functions"),  # type: ignore[arg-type]
        (lambda: bench.compare({"a": 3}), TypeError, "not 'a': 3"),  # type: ignore[dict-item]
        (lambda: bench.compare(arms, "fast"), ValueError, "'burst' or 'sustained', not 'fast'"),
        (lambda: bench.compare(arms, rounds=0), ValueError, "at least 1"),
        (lambda: bench.compare(arms, baseline="b"), ValueError, "one of 'a', not 'b'"),
    ):
        with pytest.raises(error, match=message):
            wrong()


def test_the_host_waits_for_arrays_under_way() -> None:
    waited = []

    class Array:
        def block_until_ready(self) -> None:
            waited.append(True)

    clocks.HostClock().time(lambda: (Array(), Array()), 3)
    assert waited == [True, True]


def test_without_the_management_library_there_is_no_answer() -> None:
    sensors = Sensors(library="libno-such-library.so")
    assert (sensors.clock(), sensors.power()) == (None, None)


def test_the_management_library_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        def nvmlInit_v2(self) -> int:
            return 0

        def nvmlDeviceGetHandleByUUID(self, uuid: bytes, device: Any) -> int:
            return 0 if uuid == b"GPU-1" else 6

        def nvmlDeviceGetHandleByIndex_v2(self, index: int, device: Any) -> int:
            return 6

        def nvmlDeviceGetClockInfo(self, device: Any, kind: int, answer: Any) -> int:
            answer._obj.value = 1700 + kind
            return 0

        def nvmlDeviceGetPowerUsage(self, device: Any, answer: Any) -> int:
            answer._obj.value = 350_500
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    sensors = Sensors("GPU-1")
    assert (sensors.clock(), sensors.power()) == (1701.0, 350.5)
    assert Sensors("GPU-2").clock() is None  # no such GPU, and none at all
