# SPDX-License-Identifier: Apache-2.0
"""The suites: which instructions on which machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from isagen.table import Form, Table

from . import cccl, manual
from .batch import Machine
from .compare import Comparison, Figures, report
from .instance import is_named, legal_instances
from .legal import Availability
from .mutate import Mutator
from .product import families, product
from .sweep import early_machines, representatives
from .sweep import machines as sweep_machines

# The families whose legal spellings and products are compared in full.
FULL = [
    "ld", "st", "atom", "red", "cvt", "setp", "wgmma", "tcgen05", "mma", "cp.async.bulk",
    "mbarrier",
]  # fmt: skip
OLDEST = Machine("sm_75", "6.3")  # has the instructions that later versions lost
USUAL = ["sm_80", "sm_90a", "sm_100a", "sm_107a", "sm_120a"]


class Session:
    """One call of the command: its selection, its judges, and the figures so far."""

    def __init__(
        self,
        table: Table,
        forms: list[Form],
        machines: list[Machine],
        comparison: Comparison | None,
        cap: int,
        path: Path | None,
    ) -> None:
        self.table = table
        self.forms = forms
        self.machines = machines
        self.comparison = comparison
        self.cap = cap
        self.path = path
        self.figures: list[Figures] = []

    def compare(self, name: str, lines: Iterable[str], machine: Machine) -> None:
        """Compare lines on a machine and print the figures; without judges, print the lines."""
        if self.comparison is None:
            print("\n".join(dict.fromkeys(lines)))
            return
        figures = self.comparison.run(name, lines, machine)
        print(figures, flush=True)
        self.figures.append(figures)

    def on(self, targets: list[str]) -> list[Machine]:
        """Return the machines asked for, else `targets` at the newest version."""
        return self.machines or [Machine(target) for target in targets]

    def finish(self, shown: int, is_all: bool) -> int:
        """Print what differs and the sums; the exit status."""
        unknown = [difference for figures in self.figures for difference in figures.unknown]
        if is_all:
            for d in unknown:
                print(f"{d.machine}\t{d.line}\t{d.ours or 'accepts'}\t{d.theirs or 'accepts'}")
        elif unknown:
            print(report(unknown, shown))
        sums: dict[str, Figures] = {}
        for figures in self.figures:
            sums.setdefault(figures.suite, Figures(figures.suite, "in all")).add(figures)
        if len(self.figures) > 1:
            print("\n".join(map(str, sums.values())))
        return 1 if unknown else 0


def instances(session: Session, name: str) -> None:
    """Every legal spelling; the named families in full."""
    cap = session.cap or 20_000
    for machine in session.on(USUAL):
        has = Availability(session.table, machine).has
        full = [form for form in session.forms if is_named(form, FULL)]
        rest = [form for form in session.forms if not is_named(form, FULL)]

        def lines() -> Iterator[str]:
            for made in legal_instances(session.table, full, has, cap * 50):  # noqa: B023
                yield made.text
            for made in legal_instances(session.table, rest, has, cap):  # noqa: B023
                yield made.text

        session.compare(name, lines(), machine)


def products(session: Session, name: str) -> None:
    """Compare the full product of each family, sampled beyond the cap."""
    for machine in session.on(["sm_90a", "sm_100a"]):
        for family, members in families(session.forms).items():
            is_full = any(is_named(form, FULL) for form in members)
            cap = session.cap or (500_000 if is_full else 10_000)
            lines = (made.text for made in product(session.table, members, cap, cap // 25))
            session.compare(f"{name} {family}", lines, machine)


def mutations(session: Session, name: str) -> None:
    """One-step mutations of every form."""
    mutator = Mutator(session.table)
    for machine in session.on(USUAL):
        has = Availability(session.table, machine).has
        lines = (
            made.text
            for form in session.forms
            for made in mutator.mutations(form, has, session.cap or 600)
        )
        session.compare(name, lines, machine)


def sweep(session: Session, name: str) -> None:
    """Compare representatives over all versions and targets."""
    lines = list(dict.fromkeys(representatives(session.table, session.forms)))
    chosen = session.machines or sweep_machines(session.table)
    if session.comparison is None:
        print("\n".join(lines))
        return
    total = Figures(name, f"{len(chosen)} machines")
    session.comparison.ptxas.sample = 1
    for machine in chosen:
        total.add(session.comparison.run(name, lines, machine))
    print(total, flush=True)
    session.figures.append(total)
    if not session.machines and len(session.forms) == len(session.table.forms):
        early = early_machines(session.table)
        frames = session.comparison.run_frames(f"{name} of modules", early)
        print(frames, flush=True)
        session.figures.append(frames)


def examples(session: Session, name: str) -> None:
    """Compare the table's own examples."""
    for machine in [*session.on(USUAL), *([] if session.machines else [OLDEST])]:
        lines = (example.text for form in session.forms for example in form.examples)
        session.compare(name, lines, machine)


def manual_examples(session: Session, name: str) -> None:
    """Compare the manual's example instructions, where a copy is at hand."""
    if session.path is None or not session.path.exists():
        print(f"{name}: no copy of the manual (--path)")
        return
    for machine in session.on(USUAL):
        session.compare(name, manual.examples(session.path, session.table), machine)


def cccl_templates(session: Session, name: str) -> None:
    """CCCL's asm templates, where the wheel is installed."""
    folder = cccl.find_headers()
    if folder is None:
        print(f"{name}: the nvidia-cuda-cccl wheel is not installed")
        return
    for machine in session.on(USUAL):
        session.compare(name, cccl.templates(folder), machine)


SUITES: dict[str, Callable[[Session, str], None]] = {
    "examples": examples,
    "instances": instances,
    "product": products,
    "mutations": mutations,
    "sweep": sweep,
    "manual": manual_examples,
    "cccl": cccl_templates,
}
