# SPDX-License-Identifier: Apache-2.0
"""The suites: which instructions on which machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from isagen.table import Form, Table

from . import cccl, manual
from .batch import INDEPENDENT, Machine
from .compare import Comparison, Figures, report
from .fit import names_sampler
from .instance import is_named, legal_instances
from .legal import Availability
from .mutate import Mutator
from .product import Product, families
from .sweep import early_machines, representatives
from .sweep import machines as sweep_machines

# The families whose legal spellings and products are compared in full.
FULL = [
    "ld", "st", "atom", "red", "cvt", "setp", "wgmma", "tcgen05", "mma", "cp.async.bulk",
    "mbarrier",
]  # fmt: skip
OLDEST = Machine("sm_75", "6.3")  # has the instructions that later versions lost
USUAL = ["sm_80", "sm_90a", "sm_100a", "sm_107a", "sm_120a"]
PRODUCT = ["sm_90a", "sm_100a"]


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
        """Compare lines on a machine; without judges, print them."""
        if self.comparison is None:
            print("\n".join(dict.fromkeys(lines)))
            return
        self.figures.append(self.comparison.run(name, lines, machine))

    def on(self, targets: list[str]) -> list[Machine]:
        """Return the machines asked for, else `targets` at the newest version."""
        return self.machines or [Machine(target) for target in targets]

    def rounds(self, targets: list[str]) -> Iterator[tuple[Machine, list[Form]]]:
        """Each machine with the forms to judge there; those with samplers in both texture modes."""
        sampled = [form for form in self.forms if names_sampler(form)]
        for machine in self.on(targets):
            yield machine, self.forms
            if sampled:
                yield replace(machine, texmode=INDEPENDENT), sampled


def finish(parts: list[Figures], shown: int, is_all: bool) -> int:
    """Print what differs and the sums; the exit status."""
    unknown = [difference for figures in parts for difference in figures.unknown]
    if is_all:
        for d in [*unknown, *(d for figures in parts for d in figures.known)]:
            verdicts = f"{d.ours or 'accepts'}\t{d.theirs or 'accepts'}"
            print(f"{d.machine}\t{d.line}\t{verdicts}\t{d.reason or 'open'}")
    elif unknown:
        print(report(unknown, shown))
    sums: dict[str, Figures] = {}
    for figures in parts:
        sums.setdefault(figures.suite, Figures(figures.suite, "in all")).add(figures)
    if len(parts) > 1:
        print("\n".join(map(str, sums.values())))
    return 1 if unknown else 0


def instances(session: Session, name: str) -> None:
    """Every legal spelling; the named families in full."""
    cap = session.cap or 20_000
    for machine, forms in session.rounds(USUAL):
        has = Availability(session.table, machine).has
        lines = (
            made.text
            for form in forms
            for made in legal_instances(
                session.table,
                [form],
                has,
                cap * 50 if is_named(form, FULL) else cap,
                machine.texmode,
            )
        )
        session.compare(name, lines, machine)


def products(session: Session, name: str) -> None:
    """Compare the full product of each family, sampled beyond the cap."""
    relatives = families(session.table.forms)
    for machine, forms in session.rounds(PRODUCT):
        for family, members in families(forms).items():
            is_full = any(is_named(form, FULL) for form in members)
            cap = session.cap or (500_000 if is_full else 10_000)
            made = (
                Product(session.table, form, relatives[family], machine.texmode) for form in members
            )
            lines = (one.text for each in made for one in each.instances(cap, cap // 25))
            session.compare(f"{name} {family}", lines, machine)


def mutations(session: Session, name: str) -> None:
    """One-step mutations of every form."""
    mutator = Mutator(session.table)
    for machine, forms in session.rounds(USUAL):
        has = Availability(session.table, machine).has
        lines = (
            made.text
            for form in forms
            for made in mutator.mutations(form, has, session.cap or 600, machine.texmode)
        )
        session.compare(name, lines, machine)


def sweep(session: Session, name: str) -> None:
    """Compare representatives over all versions and targets."""
    chosen = session.machines or sweep_machines(session.table)
    for texmode in ("", INDEPENDENT):
        forms = [form for form in session.forms if not texmode or names_sampler(form)]
        lines = list(dict.fromkeys(representatives(session.table, forms, texmode)))
        if session.comparison is None:
            print("\n".join(lines))
        elif lines:
            total = Figures(name, f"{len(chosen)} machines {texmode}".rstrip())
            session.comparison.ptxas.sample = 1
            for machine in chosen:
                total.add(session.comparison.run(name, lines, replace(machine, texmode=texmode)))
            session.figures.append(total)


def modules(session: Session, name: str) -> None:
    """Compare the verdicts on the header alone, where a target is younger than the version."""
    if session.comparison is not None:
        early = session.machines or early_machines(session.table)
        session.figures.append(session.comparison.run_frames(name, early))


def examples(session: Session, name: str) -> None:
    """Compare the table's own examples."""
    rounds = [*session.rounds(USUAL), *([] if session.machines else [(OLDEST, session.forms)])]
    for machine, forms in rounds:
        session.compare(name, (e.text for form in forms for e in form.examples), machine)


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
    "modules": modules,
    "manual": manual_examples,
    "cccl": cccl_templates,
}
