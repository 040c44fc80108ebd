# SPDX-License-Identifier: Apache-2.0
"""The way through a tuning: trace, prune, assemble, check, time, remember."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyptx import _progress
from pyptx._tune import build, memory
from pyptx._tune.arguments import Arguments
from pyptx._tune.assemble import assembled
from pyptx._tune.build import Candidate
from pyptx._tune.errors import TrialFailed, fail, wrong_argument
from pyptx._tune.record import Record, default_folder
from pyptx._tune.result import Trial, Tuned
from pyptx._tune.runner import Runner
from pyptx._tune.search import EXHAUSTIVE, HALVING, Standing, search
from pyptx._tune.space import check_kernel, configurations, expected_costs, name_of
from pyptx.kernel import Kernel

RUNGS = {"halving": HALVING, "exhaustive": EXHAUSTIVE}
#: Seconds that one call, or one sample of calls, may take: on a GPU, on the emulator.
TIMEOUT = (10.0, 60.0)
MOST_NOTES = 20


@dataclass(frozen=True)
class Wishes:
    """How a tuning is to be done; see `pyptx.tune`."""

    slack: float
    reference: Any
    tolerance: float | None
    search: str
    deterministic: bool
    cold: bool
    timeout: float | None
    isolate: bool
    remember: bool | str | os.PathLike[str]
    again: bool
    jobs: int | None

    def __post_init__(self) -> None:
        if self.search not in RUNGS:
            wrong_argument("search", "'halving' or 'exhaustive'", repr(self.search))
        for name, least in (("slack", 1), ("tolerance", 0), ("timeout", 0), ("jobs", 1)):
            value = getattr(self, name)
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (is_number and value >= least):
                wrong_argument(name, f"a number from {least} on", repr(value))

    @property
    def is_exhaustive(self) -> bool:
        """Whether everything that can run is timed."""
        return self.search == "exhaustive"

    def wanted(self) -> list[Any] | None:
        """Return the expected results."""
        if self.reference is None:
            return None
        is_several = isinstance(self.reference, (tuple, list))
        return list(self.reference) if is_several else [self.reference]

    def folder(self) -> Any:
        """Return where to remember, None for nowhere."""
        if self.remember is True:
            return default_folder()
        return None if self.remember is False else self.remember


def is_timed(arguments: Arguments) -> bool:
    """Whether a clock says something: how long the emulator takes says nothing of a GPU."""
    return arguments.ordinal is not None


def run(
    kernel: Any,
    space: Any,
    args: Any,
    keywords: Mapping[str, Any] | None,
    where: Callable[..., Any] | None,
    cost: Callable[..., float] | None,
    wishes: Wishes,
) -> Tuned:
    """Do what `pyptx.tune` is asked."""
    started = time.monotonic()
    check_kernel(kernel)
    arguments = Arguments(args, keywords)
    points = configurations(kernel, space, where)
    costs = expected_costs(points, cost)
    candidates = [
        Candidate(index, point, Trial(point.value, cost=expected))
        for index, (point, expected) in enumerate(zip(points, costs, strict=True))
    ]
    tuning = _Tuning(kernel, arguments, candidates)
    tuning.build(wishes)
    is_static = wishes.deterministic or not is_timed(arguments)
    options = {
        "search": "static" if is_static else wishes.search,
        "cold": wishes.cold,
        "tolerance": wishes.tolerance,
        "has_reference": wishes.reference is not None,
    }
    record = Record(memory.key_of(tuning.name, arguments, candidates, options), wishes.folder())
    kept = None if wishes.again else record.read()
    if kept is not None and (best := memory.recalled(candidates, kept)) is not None:
        return tuning.result(best, "remembered", started)
    timeout = TIMEOUT[arguments.ordinal is None] if wishes.timeout is None else wishes.timeout
    with (
        _progress.shown(f"tuning {tuning.name}") as tuning.line,
        Runner(
            arguments,
            tuning.column_major(),
            timeout=timeout,
            cold=wishes.cold,
            isolate=wishes.isolate,
        ) as runner,
    ):
        standing = memory.resumed(candidates, kept)
        tuning.prepare(runner, wishes, is_checked=standing is not None)
        if is_static:
            best = tuning.ranked()[0]
        else:
            record.write(memory.found_so_far(candidates, standing))
            best = tuning.timed(runner, RUNGS[wishes.search], standing, record)
    best.trial.status = "best"
    record.write(memory.found_so_far(candidates, None, is_finished=True))
    return tuning.result(best, "static" if is_static else "timed", started)


class _Tuning:
    """The candidates of one call of tune."""

    def __init__(self, kernel: Any, arguments: Arguments, candidates: Sequence[Candidate]) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.candidates = candidates
        self.line = _progress.Line("")

    @property
    def name(self) -> str:
        """What the kernel is called; what builds it, where nothing could be built."""
        names = (c.settled.name for c in self.candidates if c.settled is not None)
        return next(names, name_of(self.kernel))

    def alive(self) -> list[Candidate]:
        """Return what may still be chosen; PTX0833 where nothing is left."""
        found = [candidate for candidate in self.candidates if candidate.is_alive]
        if not found:
            notes = [f"{c.configuration}: {c.trial.status}: {c.trial.why}" for c in self.candidates]
            if len(notes) > MOST_NOTES:
                notes = [*notes[:MOST_NOTES], f"and {len(notes) - MOST_NOTES} more"]
            fail("PTX0833", len(self.candidates), self.name, notes=notes)
        return found

    def column_major(self) -> list[bool]:
        """Return how the inputs lie in memory."""
        settled = self.alive()[0].settled
        assert settled is not None
        return [tensor.is_column_major for tensor in settled.inputs]

    def build(self, wishes: Wishes) -> None:
        """Trace everything, and drop what need not be assembled."""
        for candidate in self.candidates:
            build.build(candidate, self.kernel, self.arguments)
        build.drop_repeated(self.candidates)
        if not wishes.is_exhaustive:
            build.drop_costly(self.candidates, wishes.slack)
        self._drop_dominated(wishes)
        self.alive()

    def _drop_dominated(self, wishes: Wishes) -> None:
        if not wishes.is_exhaustive:
            build.drop_dominated(self.candidates, memory.multiprocessors(self.arguments))

    def prepare(self, runner: Runner, wishes: Wishes, *, is_checked: bool) -> None:
        """Assemble and check what is left, and then what was left out for one that is no good."""
        check = _Check(self, runner, wishes.wanted(), wishes.tolerance)
        with ThreadPoolExecutor(1) as pool:
            opened = pool.submit(runner.open)  # takes as long as assembling
            fresh = self.alive()
            while fresh:
                for number, (candidate, saved) in enumerate(
                    assembled(fresh, self.arguments, wishes.jobs), 1
                ):
                    self._say(f"{number} of {len(fresh)} configurations assembled")
                    runner.add(candidate.index, saved)
                    opened.result()
                    if not is_checked:
                        check.run(candidate)
                self._drop_dominated(wishes)
                fresh = self._revived()
        self.alive()
        if wishes.reference is None and check.is_doubtful:
            why = [f"{c.configuration}: {c.trial.why}" for c in check.wrong]
            total = len(check.wrong) + len(check.right)
            notes = [f"the first is {check.right[0].configuration}", *why[:MOST_NOTES]]
            fail("PTX0834", len(check.wrong), total, self.name, notes=notes)

    def _say(self, what: str) -> None:
        self.line.say(f"tuning {self.name}: {what}")

    def _revived(self) -> list[Candidate]:
        """Take back what was pruned for a candidate that cannot be used after all."""
        found = [
            candidate
            for candidate in self.candidates
            if candidate.by is not None
            and candidate.trial.status == "pruned"
            and candidate.by.trial.status in ("refused", "wrong", "failed")
        ]
        for candidate in found:
            candidate.by = None
            candidate.drop("checked", "")
        return found

    def ranked(self) -> list[Candidate]:
        """Return what is left, the best first, by what is known without a clock."""

        def rank(candidate: Candidate) -> tuple[float, int, int, int]:
            trial = candidate.trial
            return trial.cost or 0.0, trial.spills or 0, -(trial.warps or 0), candidate.index

        return sorted(self.alive(), key=rank)

    def timed(
        self, runner: Runner, rungs: Sequence[Any], standing: Standing | None, record: Record
    ) -> Candidate:
        """Time what is left and return the fastest."""
        by_index = {candidate.index: candidate for candidate in self.candidates}
        arms = [candidate.index for candidate in self.alive()]
        now = standing or Standing({}, arms, 0, {})
        left = list(now.alive)
        self._say(f"timing {len(arms)} configurations")
        for _ in search(arms, runner.time, rungs, before=now):
            for index, error in now.failed.items():
                by_index[index].drop(error.status, error.why)
            for index, seconds in now.seconds.items():
                by_index[index].trial.seconds = seconds
            for index in set(left) - set(now.alive) - set(now.failed):
                by_index[index].trial.why = f"left out after rung {now.rung} of {len(rungs)}"
            left = list(now.alive)
            record.write(memory.found_so_far(self.candidates, now))
            self._say(f"rung {now.rung} of {len(rungs)}, {len(left)} configurations left")
        for candidate in self.alive():
            candidate.trial.status = "timed"
        return by_index[now.alive[0]]

    def result(self, best: Candidate, how: str, started: float) -> Tuned:
        """Return what the caller gets."""
        made = best.kernel
        if isinstance(self.kernel, Kernel):
            made = functools.partial(self.kernel, **best.configuration.value)
        trials = [candidate.trial for candidate in self.candidates]
        device = memory.device_name(self.arguments)
        spent = time.monotonic() - started
        return Tuned(self.name, device, how, best.trial, made, trials, spent)


class _Check:
    """Results against the reference, or the first that there is."""

    def __init__(
        self, tuning: _Tuning, runner: Runner, wanted: list[Any] | None, tolerance: float | None
    ) -> None:
        self._arguments = tuning.arguments
        self._runner = runner
        self._wanted = wanted
        self._tolerance = tolerance
        self._has_bytes = False
        self.right: list[Candidate] = []
        self.wrong: list[Candidate] = []

    @property
    def is_doubtful(self) -> bool:
        """Whether the first result is more likely to be wrong than the others."""
        return len(self.wrong) > len(self.right)

    def run(self, candidate: Candidate) -> None:
        """Run it once, and drop it where it fails or gives another result."""
        try:
            parts = self._runner.run(candidate.index)
        except TrialFailed as error:
            candidate.drop(error.status, error.why)
            return
        problem = None if parts is None else self._problem(candidate, parts)
        if problem is None:
            self.right.append(candidate)
        else:
            candidate.drop("wrong", problem)
            self.wrong.append(candidate)

    def _problem(self, candidate: Candidate, parts: list[bytes]) -> str | None:
        assert candidate.settled is not None
        outputs = candidate.settled.outputs or candidate.settled.inputs
        problem = None
        if self._wanted is None:
            self._wanted = self._arguments.results(outputs, parts)
        else:
            problem = self._arguments.difference(outputs, parts, self._wanted, self._tolerance)
        if problem is None and not self._has_bytes:
            self._runner.refer_to(parts)
            self._has_bytes = True
        return problem
