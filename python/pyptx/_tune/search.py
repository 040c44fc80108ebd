# SPDX-License-Identifier: Apache-2.0
"""Which of some arms is fastest, timed as little as that takes: successive halving, interleaved.

Timing everything equally well spends most of the time on what is plainly slow. A rung gives each
arm that is left the same time; the faster half goes on to the next, which gives each three times as
much. Within a rung, rounds time every arm once in an order drawn anew, and an arm's time is
taken against those of the others in its round: a device that slows down slows all of them.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyptx._tune.errors import TrialFailed

#: Seconds of work for an arm that is timed in full: as `bench.compare` does when sustained.
SAMPLE, ROUNDS = 0.02, 11
#: Of the arms of a rung, one in so many goes on, and two at least.
KEEP = 2
#: Seconds of work before the first round, so that the clock is up.
WARM_UP = 0.1


@dataclass(frozen=True)
class Rung:
    """How long each arm is timed: so many rounds, of so many seconds.

    Where a call takes longer than that, fewer rounds take the same time; `least` there are.
    """

    rounds: int
    seconds: float
    least: int | None = None  # None: as many as `rounds`

    def rounds_of(self, call: float) -> int:
        """Return how many rounds there are of calls of so many seconds."""
        least = self.rounds if self.least is None else self.least
        fitting = self.rounds if call <= self.seconds else int(self.rounds * self.seconds / call)
        return max(least, fitting)


#: All arms are timed for 1/54 of the full time, half of them for 1/18, a quarter for 1/6: together
#: an eleventh of what timing all in full takes.
FULL = SAMPLE * ROUNDS
#: Many short rounds say more than few long ones of a device whose clock follows its power.
HALVING = (Rung(4, FULL / 216, 1), Rung(4, FULL / 72, 1), Rung(9, FULL / 54, 3))
EXHAUSTIVE = (Rung(ROUNDS, SAMPLE),)

Sample = Callable[[int, float], float]


@dataclass
class Standing:
    """What a search has found: arms with their times in the last rung that they were in."""

    seconds: dict[int, list[float]]
    alive: list[int]  # the fastest first
    rung: int  # how many rungs are done
    failed: dict[int, TrialFailed]


def search(
    arms: Iterable[int],
    sample: Sample,
    rungs: Sequence[Rung] = HALVING,
    *,
    seed: int = 0,
    before: Standing | None = None,
) -> Iterator[Standing]:
    """Climb the rungs, and yield what is known after each; the last one's first arm is the best.

    `sample` returns the seconds of a call of an arm, from about so many seconds of work, or raises
    TrialFailed, which leaves the arm out. `before` is where an earlier search has stopped.
    """
    order = random.Random(seed)
    now = before or Standing({}, list(arms), 0, {})
    if now.alive and now.rung < len(rungs):
        _warm_up(now, sample)
    while now.rung < len(rungs):
        rung = rungs[now.rung]
        rounds = [_round(now, sample, rung.seconds, order)]
        for _ in range(1, rung.rounds_of(min(rounds[0].values(), default=0.0))):
            rounds.append(_round(now, sample, rung.seconds, order))
        times = {arm: [each[arm] for each in rounds] for arm in now.alive}
        score = _scores(times)
        now.seconds.update(times)
        now.alive.sort(key=score.__getitem__)
        now.rung += 1
        if now.rung < len(rungs):
            kept = max(2, -(-len(now.alive) // KEEP))
            now.alive = now.alive[:kept]
        yield now


def _warm_up(now: Standing, sample: Sample) -> None:
    for arm in list(now.alive)[:1]:
        try:
            sample(arm, WARM_UP)
        except TrialFailed as error:
            _leave_out(now, arm, error)


def _round(now: Standing, sample: Sample, seconds: float, order: random.Random) -> dict[int, float]:
    """Time every arm that is alive once."""
    found: dict[int, float] = {}
    for arm in order.sample(now.alive, len(now.alive)):
        try:
            found[arm] = sample(arm, seconds)
        except TrialFailed as error:
            _leave_out(now, arm, error)
    return found


def _leave_out(now: Standing, arm: int, error: TrialFailed) -> None:
    now.failed[arm] = error
    now.alive.remove(arm)


def _scores(times: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """Return how slow each arm is against the arms beside it: the lower median over the rounds.

    Of two rounds that is the better one: what disturbs a round makes it slower.
    """
    if not times:
        return {}
    middles = [statistics.median(column) for column in zip(*times.values(), strict=True)]
    return {
        arm: statistics.median_low(
            own / max(middle, 1e-12) for own, middle in zip(row, middles, strict=True)
        )
        for arm, row in times.items()
    }
