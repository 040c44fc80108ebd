# SPDX-License-Identifier: Apache-2.0
"""How `pyptx.tune` times, on synthetic devices with noise, drift and disturbances."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Any

import pytest

from pyptx._tune.errors import TrialFailed
from pyptx._tune.search import EXHAUSTIVE, HALVING, Rung, Standing, search

MOST_CALLS = 250


class Device:
    """Arms that take what they are told, on a device that warms up and is disturbed at times."""

    def __init__(self, times: list[float], seed: int) -> None:
        self.times = times
        self.spent = 0.0
        self.asked: list[int] = []
        self._random = random.Random(seed)

    def __call__(self, arm: int, seconds: float) -> float:
        self.asked.append(arm)
        call = self.times[arm]
        calls = max(1, min(int(seconds / call), MOST_CALLS))
        self.spent += calls * call
        slower = 1 + 0.1 * (1 - math.exp(-self.spent / 2))
        # 0.7 % that no repetition takes away, 3 % of a call of 0.2 ms that it does.
        deviation = math.sqrt(0.007**2 + 0.03**2 * 2e-4 / (calls * call))
        noise = math.exp(self._random.gauss(0, deviation))
        disturbed = 1.4 if self._random.random() < 0.01 else 1.0
        return call * slower * noise * disturbed


LANDSCAPES: dict[str, Any] = {
    "anything": lambda r, n: [1 + 2 * r.random() for _ in range(n)],
    "all close": lambda r, n: [1 + 0.15 * r.random() for _ in range(n)],
    "few good": lambda r, n: [math.exp(abs(r.gauss(0, 0.7))) for _ in range(n)],
    "one good": lambda r, n: [1.0, *(1.25 + r.random() for _ in range(n - 1))],
    "one slightly better": lambda r, n: [1.0, *(1.06 + 0.2 * r.random() for _ in range(n - 1))],
}


def last(standings: Iterable[Standing]) -> Standing:
    *_, found = standings
    return found


@pytest.mark.parametrize("landscape", LANDSCAPES)
@pytest.mark.parametrize("count", [24, 51])
@pytest.mark.parametrize(("call", "least"), [(2e-4, 39), (5e-2, 36)])
def test_within_three_per_cent_in_a_quarter_of_the_time(
    landscape: str, count: int, call: float, least: int
) -> None:
    """So many of 40 spaces at least: what disturbs a long call can hit the only good arm."""
    good = 0
    for seed in range(40):
        drawn = random.Random(seed)
        times = [call * part for part in LANDSCAPES[landscape](drawn, count)]
        drawn.shuffle(times)
        halving, full = Device(times, seed), Device(times, seed)
        found = last(search(range(count), halving, seed=seed))
        last(search(range(count), full, EXHAUSTIVE, seed=seed))
        good += times[found.alive[0]] <= 1.03 * min(times)
        assert halving.spent <= 0.25 * full.spent
    assert good >= least


def test_choosing_by_one_round_would_not_do() -> None:
    """The claim is not empty: with one short round for each it does not hold."""
    good = 0
    for seed in range(40):
        drawn = random.Random(seed)
        times = [2e-4 * part for part in LANDSCAPES["one slightly better"](drawn, 51)]
        drawn.shuffle(times)
        found = last(search(range(51), Device(times, seed), (Rung(1, 2e-4),), seed=seed))
        good += times[found.alive[0]] <= 1.03 * min(times)
    assert good < 30


def test_rounds_are_interleaved_and_drawn_anew() -> None:
    device = Device([1e-3] * 9, 0)
    last(search(range(9), device, (Rung(6, 0.001),), seed=3))
    rounds = [device.asked[at : at + 9] for at in range(1, len(device.asked), 9)]
    assert len(rounds) == 6
    assert all(sorted(each) == list(range(9)) for each in rounds)
    assert len({tuple(each) for each in rounds}) == 6
    again = Device([1e-3] * 9, 0)
    last(search(range(9), again, (Rung(6, 0.001),), seed=3))
    assert again.asked == device.asked


def test_a_device_that_slows_down_changes_nothing() -> None:
    """Arm 0 is faster in two rounds of three, but not in the one with the middle times."""
    rounds = {0: iter([1.0, 1.0, 20.0, 30.0]), 1: iter([1.1, 18.0, 33.0])}
    found = last(search([0, 1], lambda arm, _: next(rounds[arm]), (Rung(3, 0.02),)))
    assert found.alive == [0, 1]


def test_half_goes_on_and_two_at_least() -> None:
    seen = [len(now.alive) for now in search(range(20), Device([1e-4] * 20, 0))]
    assert seen == [10, 5, 5]
    seen = [len(now.alive) for now in search(range(2), Device([1e-4] * 2, 0))]
    assert seen == [2, 2, 2]
    assert last(search([7], Device([1e-4] * 8, 0))).alive == [7]


def test_an_arm_that_fails_is_left_out() -> None:
    device = Device([1e-4 * (1 + arm) for arm in range(6)], 0)

    def sample(arm: int, seconds: float) -> float:
        if arm == 0 and device.asked.count(0) >= 3:
            raise TrialFailed("failed", "it hangs at times")
        return device(arm, seconds)

    found = last(search(range(6), sample))
    assert found.failed[0].why == "it hangs at times"
    assert found.alive[0] == 1
    assert 0 not in found.alive


def test_all_fail() -> None:
    def sample(arm: int, seconds: float) -> float:
        raise TrialFailed("failed", "it faults")

    found = last(search(range(3), sample))
    assert found.alive == []
    assert sorted(found.failed) == [0, 1, 2]


def test_a_search_goes_on_where_another_stopped() -> None:
    times = [1e-4 * (1 + arm / 10) for arm in range(16)]
    first = Device(times, 0)
    steps = search(range(16), first)
    after_one = next(steps)
    stopped = Standing(dict(after_one.seconds), list(after_one.alive), after_one.rung, {})
    left, second = set(stopped.alive), Device(times, 1)
    found = last(search(range(16), second, before=stopped))
    assert found.rung == len(HALVING)
    assert found.alive[0] == 0
    assert set(second.asked) == left
    assert list(search([], second, before=found)) == []
