# SPDX-License-Identifier: Apache-2.0
"""Suites cut into tasks for as many processes as there are cores.

Making the lines is work of a Python process, and judging them of another: a task is a suite on one
machine and one file of the table (a product: one family, or one form of the large families), so
that many of both run side by side.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from isagen.model import load
from isagen.table import Form, Table

from .batch import Machine
from .compare import Comparison, Entry, Figures
from .instance import family_of, is_named
from .ptxas import Ptxas
from .suites import FULL, PRODUCT, SUITES, USUAL, Session
from .verdict import Verdict

# Where a suite runs when the command line does not say; the others look at all machines at once.
_TARGETS = {"product": PRODUCT, "instances": USUAL, "mutations": USUAL}
_WITHOUT_FORMS = ("modules", "manual", "cccl")


@dataclass(frozen=True)
class Selection:
    """What the command line asked for."""

    table: Path
    forms: list[Form]
    machines: list[Machine]
    cap: int
    path: Path | None


@dataclass(frozen=True)
class Task:
    """One suite on some forms, by their places in the table, and on some machines."""

    suite: str
    forms: frozenset[str]
    machines: tuple[Machine, ...]
    weight: int  # about how many lines: the long ones start first


def tasks(suites: Iterable[str], selection: Selection) -> Iterator[Task]:
    """Cut the suites up."""
    for suite in suites:
        machines = selection.machines or [Machine(t) for t in _TARGETS.get(suite, [])]
        each = [(machine,) for machine in machines] if suite in _TARGETS else [tuple(machines)]
        for group in _groups(suite, selection.forms):
            places = frozenset(form.where for form in group)
            weight = sum(_spellings(form) for form in group) * max(len(each[0]), 1)
            for chosen in each:
                yield Task(suite, places, chosen, weight)


def _spellings(form: Form) -> int:
    return math.prod(len(slot.values) + slot.optional for slot in form.slots)


def _groups(suite: str, forms: list[Form]) -> Iterable[list[Form]]:
    if suite in _WITHOUT_FORMS:
        return [[]]
    groups: dict[str, list[Form]] = {}
    for form in forms:
        key = form.where.split(":")[0]
        if suite == "product":
            key = form.where if is_named(form, FULL) else family_of(form)
        groups.setdefault(key, []).append(form)
    return groups.values()


def run(
    suites: Iterable[str], selection: Selection, comparison: Comparison, jobs: int
) -> list[Figures]:
    """Run the suites; the figures by suite and machine. Notes which entries of the ledger serve."""
    start = time.monotonic()
    sums: dict[tuple[str, str], Figures] = {}
    programs = (comparison.ptxas.program, comparison.verdict.program)
    given = (selection, programs, comparison.ledger)
    chosen = sorted(tasks(suites, selection), key=lambda task: -task.weight)
    with ProcessPoolExecutor(jobs, initializer=_prepare, initargs=given) as pool:
        futures = [pool.submit(_run, task) for task in chosen]
        for count, done in enumerate(as_completed(futures), 1):
            figures, used = done.result()
            comparison.used |= used
            for part in figures:
                key = (part.suite, part.where)
                sums.setdefault(key, Figures(*key)).add(part)
            if count % 50 == 0:
                lines = sum(total.lines for total in sums.values())
                unknown = sum(len(total.unknown) for total in sums.values())
                print(
                    f"certify: {count} of {len(chosen)} parts, {lines} lines, DISAGREE {unknown} "
                    f"[{time.monotonic() - start:.0f} s]",
                    flush=True,
                )
    for total in sums.values():
        print(total)
    print(f"certify: {time.monotonic() - start:.0f} s", flush=True)
    return list(sums.values())


class _Worker:
    """What a process keeps from one task to the next."""

    table: Table
    selection: Selection
    programs: tuple[Path, Path]
    ledger: list[Entry]


def _prepare(selection: Selection, programs: tuple[Path, Path], ledger: list[Entry]) -> None:
    _Worker.table = load(selection.table)
    _Worker.selection, _Worker.programs, _Worker.ledger = selection, programs, ledger


def _run(task: Task) -> tuple[list[Figures], set[Entry]]:
    forms = [form for form in _Worker.table.forms if form.where in task.forms]
    ptxas, verdict = _Worker.programs
    comparison = Comparison(Ptxas(ptxas, 1), Verdict(verdict, 1), _Worker.ledger)
    selection = _Worker.selection
    session = Session(
        _Worker.table, forms, list(task.machines), comparison, selection.cap, selection.path
    )
    SUITES[task.suite](session, task.suite)
    return session.figures, comparison.used
