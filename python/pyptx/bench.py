# SPDX-License-Identifier: Apache-2.0
"""Which of several ways is faster: arms interleaved in one run, with spread, clocks and power.

    print(compare({"ours": lambda: f(x), "theirs": lambda: g(x)}, bytes=2 * x.nbytes))

A GPU that is cool runs faster than one that has been busy for seconds, and a second arm finds the
cache and the clock that the first one left. So each round times every arm once, in an order drawn
anew, ratios are taken within rounds, and the mode says which of the two speeds is meant.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from pyptx._bench.clocks import EventClock, HostClock, find_clock
from pyptx._bench.plot import Bar, draw
from pyptx._call.refusals import refuse

__all__ = ["Arm", "Comparison", "compare"]

#: Idle seconds before a round, seconds of work in a sample, seconds of work before the first round.
MODES = {"burst": (1.0, 0.005, 0.0), "sustained": (0.0, 0.02, 3.0)}
MOST_CALLS = 1000


@dataclass(frozen=True)
class Spread:
    """The median of samples, with their 10th and 90th percentile."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of some values."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        return cls(statistics.median(values), tenths[0], tenths[-1])


@dataclass
class Arm:
    """What was found of one arm: seconds of a call by round, and what the sensors said."""

    name: str
    calls: int
    seconds: list[float] = field(default_factory=list)
    clocks: list[float] = field(default_factory=list)
    watts: list[float] = field(default_factory=list)
    bytes: float | None = None
    flops: float | None = None

    @property
    def spread(self) -> Spread:
        """Of the seconds of a call."""
        return Spread.of(self.seconds)


@dataclass
class Comparison:
    """The arms in the order they were given; the baseline's ratio is 1."""

    mode: str
    device: str
    is_cold: bool
    arms: list[Arm]
    baseline: str

    def __getitem__(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)

    def ratio(self, name: str, to: str | None = None) -> Spread:
        """Return how many times as fast an arm is, round by round: 2.0 takes half the time."""
        own, other = self[name].seconds, self[to or self.baseline].seconds
        return Spread.of([b / a for a, b in zip(own, other, strict=True)])

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each arm, for programs."""
        rows = []
        for arm in self.arms:
            spread, ratio = arm.spread, self.ratio(arm.name)
            row: dict[str, Any] = {
                "name": arm.name,
                "us": spread.median * 1e6,
                "us_10%": spread.low * 1e6,
                "us_90%": spread.high * 1e6,
                "ratio": ratio.median,
                "ratio_10%": ratio.low,
                "ratio_90%": ratio.high,
                "calls": arm.calls,
            }
            if arm.bytes is not None:
                row["TB/s"] = arm.bytes / spread.median / 1e12
            if arm.flops is not None:
                row["TFLOP/s"] = arm.flops / spread.median / 1e12
            if arm.clocks:
                row["MHz"] = statistics.median(arm.clocks)
            if arm.watts:
                row["W"] = statistics.median(arm.watts)
            rows.append(row)
        return rows

    def title(self) -> str:
        """Return what the numbers depend on, in a line."""
        cache = ("cold L2, " if self.is_cold else "warm L2, ") if self.device != "host" else ""
        rounds = len(self.arms[0].seconds)
        return f"{self.mode}, {cache}{rounds} rounds on {self.device}; ratios to {self.baseline}"

    def cells(self) -> list[list[str]]:
        """Return the table as text: a heading, then a line for each arm."""
        rows = self.table()
        extra = [key for key in ("TB/s", "TFLOP/s", "MHz", "W") if any(key in row for row in rows)]
        places = {"TB/s": 3, "TFLOP/s": 1, "MHz": 0, "W": 0}
        lines = [["arm", "us", "10% .. 90%", "ratio", "10% .. 90%", *extra]]
        for row in rows:
            lines.append(
                [
                    row["name"],
                    f"{row['us']:.2f}",
                    f"{row['us_10%']:.2f} .. {row['us_90%']:.2f}",
                    f"{row['ratio']:.3f}",
                    f"{row['ratio_10%']:.3f} .. {row['ratio_90%']:.3f}",
                    *[f"{row[key]:.{places[key]}f}" if key in row else "-" for key in extra],
                ]
            )
        return lines

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(len(line[at]) for line in cells) for at in range(len(cells[0]))]
        lines = [
            "  ".join(
                text.ljust(width) if at == 0 else text.rjust(width)
                for at, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        ]
        return "\n".join([self.title(), *lines])

    def markdown(self) -> str:
        """Return the table for a page."""
        heading, *lines = (f"| {' | '.join(line)} |" for line in self.cells())
        rule = "|---" + "|---:" * (len(self.cells()[0]) - 1) + "|"
        return "\n".join([heading, rule, *lines])

    def plot(self, path: str | PathLike[str] | None = None) -> str:
        """Return bars of the time of a call, with their spread, as SVG; write them to a file."""
        bars = []
        for arm in sorted(self.arms, key=lambda arm: arm.name != self.baseline):
            spread, ratio = arm.spread, self.ratio(arm.name)
            label = f"{spread.median * 1e6:.2f} us, {ratio.median:.3f} x"
            bars.append(Bar(arm.name, spread.median, spread.low, spread.high, label))
        text = draw(self.title(), bars)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _repr_html_(self) -> str:
        return self.plot()

    def json(self) -> str:
        """Return everything, all samples too."""
        about = {"mode": self.mode, "device": self.device, "cold": self.is_cold}
        arms = [{**vars(arm)} for arm in self.arms]
        return json.dumps({**about, "baseline": self.baseline, "arms": arms}, indent=1)


def compare(
    arms: Mapping[str, Callable[[], object]],
    mode: str = "burst",
    *,
    rounds: int = 11,
    cold: bool = True,
    baseline: str | None = None,
    bytes: float | Mapping[str, float] | None = None,
    flops: float | Mapping[str, float] | None = None,
    seed: int | None = None,
    warm_up: float | None = None,
) -> Comparison:
    """Time functions without arguments against each other, and say how sure that is.

    `mode="burst"` idles for a second before each round, in which each arm works for 5 ms or one
    call: a cool GPU. `"sustained"` works for three seconds first and never idles: a GPU at its
    power limit. `cold` writes over L2 before each call. `baseline` is the arm that ratios are
    taken to, the first where it is not named. `bytes` and `flops` are those of a call, of every
    arm or by name, and give rates. `seed` fixes the order in which arms run. `warm_up` is how many
    seconds of work come before the first round, for a GPU that is already at its limit.

    On a GPU that torch sees, events of the GPU are the clock, and the functions enqueue on torch's
    current stream; everywhere else it is the host's clock. Each function is called once before
    anything is timed; what it raises then is raised here, with the arm's name.
    """
    _check(arms, mode, rounds, baseline)
    idle, work, before = MODES[mode]
    warm_up = before if warm_up is None else warm_up
    clock = find_clock(cold)
    found = [Arm(name, 1, bytes=_of_arm(bytes, name), flops=_of_arm(flops, name)) for name in arms]
    for arm in found:
        try:
            arm.calls = _calls(clock, arms[arm.name], work)
        except Exception as error:
            error.add_note(f"in arm {arm.name!r} of a comparison")
            raise
    if not isinstance(clock, EventClock):
        idle = 0.0  # a host need not cool down
        warm_up = min(warm_up, 0.1)
    order = random.Random(seed)
    started = time.monotonic()
    while time.monotonic() - started < warm_up:
        for arm in found:
            clock.time(arms[arm.name], arm.calls)
    for _ in range(rounds):
        time.sleep(idle)
        for arm in order.sample(found, len(found)):
            arm.seconds.append(clock.time(arms[arm.name], arm.calls))
            _ask(clock, arm)
    return Comparison(mode, clock.device, clock.is_cold, found, baseline or found[0].name)


def _ask(clock: HostClock | EventClock, arm: Arm) -> None:
    if clock.sensors is None:
        return
    for answer, kept in ((clock.sensors.clock(), arm.clocks), (clock.sensors.power(), arm.watts)):
        if answer is not None:
            kept.append(answer)


def _calls(clock: HostClock | EventClock, call: Callable[[], object], work: float) -> int:
    """Return how many calls fill a sample."""
    clock.time(call, 1)  # compiles, allocates
    once = min(clock.time(call, 1) for _ in range(2))
    return max(1, min(int(work / max(once, 1e-9)), MOST_CALLS))


def _of_arm(given: float | Mapping[str, float] | None, name: str) -> float | None:
    return given.get(name) if isinstance(given, Mapping) else given


def _check(arms: Any, mode: str, rounds: int, baseline: str | None) -> None:
    if not isinstance(arms, Mapping) or not arms:
        refuse("ArgumentKind", "arms", "are a dict of functions by name, with at least one")
    for name, call in arms.items():
        if not isinstance(name, str) or not callable(call):
            wanted = "a name and a function without arguments"
            refuse("OptionType", "an arm", wanted, f"{name!r}: {call!r}")
    if mode not in MODES:
        refuse("OptionValue", "mode", "'burst' or 'sustained'", f"not {mode!r}")
    if rounds < 1:
        refuse("OptionValue", "rounds", "at least 1", f"not {rounds}")
    if baseline is not None and baseline not in arms:
        known = f"one of {', '.join(map(repr, arms))}"
        refuse("OptionValue", "the baseline", known, f"not {baseline!r}")
