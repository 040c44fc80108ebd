# SPDX-License-Identifier: Apache-2.0
"""Runs both judges over the same lines; counts, groups what differs, and consults the ledger."""

from __future__ import annotations

import re
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from .batch import FrameRefused, Machine
from .ptxas import CRASH, Ptxas
from .verdict import Verdict

ASKED_AGAIN = 2000  # lines of one run


@dataclass(frozen=True)
class Difference:
    """One line on which the judges differ; an empty verdict accepts."""

    line: str
    machine: Machine
    ours: str
    theirs: str
    reason: str = ""  # of the ledger's entry

    @property
    def family(self) -> str:
        """The opcode, with the second word of compound ones."""
        return line_family(self.line)

    @property
    def kind(self) -> str:
        """Who refuses, and why, without the names in the message."""
        if self.ours:
            return f"we refuse with {self.ours.split(' ')[0]}, ptxas accepts"
        reason = re.sub(r"'[^']*'", "'..'", self.theirs)
        return f"we accept, ptxas: {reason[:90]}"


_COMPOUND = ("cp", "tcgen05", "wgmma", "mbarrier", "fabric", "multimem", "tensormap", "wmma")


def line_family(line: str) -> str:
    """``ld``, ``cp.async``, ``tcgen05.mma``."""
    words = re.sub(r"^@!?%\w+ ", "", line).split(" ")[0].split(".")
    return ".".join(words[: 2 if words[0] in _COMPOUND else 1])


@dataclass(frozen=True)
class Entry:
    """A difference that is meant: lines and targets it covers, our verdict, why."""

    pattern: re.Pattern[str]
    target: re.Pattern[str]
    ours: str  # "accepts" or a code
    reason: str

    def covers(self, difference: Difference) -> bool:
        """Say whether this is the entry of a difference."""
        ours = difference.ours.split(" ")[0] or "accepts"
        is_there = self.target.search(difference.machine.target)
        return self.ours == ours and bool(is_there and self.pattern.search(difference.line))


def load_ledger(path: Path) -> list[Entry]:
    """Read the ledger."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Entry(re.compile(e["line"]), re.compile(e.get("target", "")), e["ours"], e["reason"])
        for e in data.get("entry", [])
    ]


@dataclass
class Figures:
    """What a run found."""

    suite: str
    where: str
    lines: int = 0
    accepted: int = 0
    agreed: int = 0
    crashes: int = 0
    late: int = 0  # refused by ptxas only when it generates code; among those agreed
    seconds: float = 0.0
    known: list[Difference] = field(default_factory=list)  # in the ledger
    unknown: list[Difference] = field(default_factory=list)

    def add(self, other: Figures) -> None:
        """Take in the figures of a part."""
        self.lines += other.lines
        self.accepted += other.accepted
        self.agreed += other.agreed
        self.known += other.known
        self.crashes += other.crashes
        self.late += other.late
        self.seconds += other.seconds
        self.unknown += other.unknown

    def __str__(self) -> str:
        share = 100.0 * self.agreed / max(self.lines, 1)
        return (
            f"{self.suite} {self.where}: {self.lines} lines, ptxas accepts {self.accepted}, "
            f"agreed {self.agreed} ({share:.3f}%), ledger {len(self.known)}, "
            f"DISAGREE {len(self.unknown)}"
            + (f", {self.late} refused in code generation" if self.late else "")
            + (f", crashed ptxas {self.crashes}" if self.crashes else "")
            + f" [{self.seconds:.1f} s]"
        )


class Comparison:
    """Both judges and the ledger."""

    def __init__(self, ptxas: Ptxas, verdict: Verdict, ledger: list[Entry]) -> None:
        self.ptxas = ptxas
        self.verdict = verdict
        self.ledger = ledger
        self.used: set[Entry] = set()  # entries that covered a difference

    def run(self, name: str, lines: Iterable[str], machine: Machine) -> Figures:
        """Compare the verdicts on the distinct lines."""
        start = time.monotonic()
        distinct = list(dict.fromkeys(lines))
        figures = Figures(name, str(machine), lines=len(distinct))
        theirs = self.ptxas.judge(distinct, machine)
        ours = self.verdict.judge(distinct, machine)
        for line, mine, other in zip(distinct, ours, theirs, strict=True):
            figures.accepted += other == ""
            figures.crashes += other == CRASH
            if (mine == "") == (other == ""):
                figures.agreed += 1
                continue
            difference = Difference(line, machine, mine, other)
            entries = [entry for entry in self.ledger if entry.covers(difference)]
            if entries:
                figures.known.append(replace(difference, reason=entries[0].reason))
            else:
                figures.unknown.append(difference)
        self._ask_again(figures, machine)
        self.used |= {e for e in self.ledger for known in figures.known if e.covers(known)}
        figures.seconds = time.monotonic() - start
        return figures

    def _ask_again(self, figures: Figures, machine: Machine) -> None:
        """Lines that only we refuse: ptxas may refuse them when it generates code."""
        found = figures.unknown + figures.known
        refused = self._refused_late([d.line for d in found if d.ours], machine)
        figures.late += len(refused)
        figures.agreed += len(refused)
        figures.unknown = [d for d in figures.unknown if not d.ours or d.line not in refused]
        figures.known = [d for d in figures.known if not d.ours or d.line not in refused]

    def _refused_late(self, lines: list[str], machine: Machine) -> set[str]:
        """Those of `lines` that pass the parser of ptxas and not its code generation."""
        asked = lines[:ASKED_AGAIN]
        verdicts = self.ptxas.assemble(asked, machine)
        return {line for line, verdict in zip(asked, verdicts, strict=True) if verdict}

    def accepted(self, lines: list[str], machine: Machine) -> list[bool]:
        """Return what ptxas takes; its code generation is asked where only we refuse."""
        theirs, ours = self.ptxas.judge(lines, machine), self.verdict.judge(lines, machine)
        passed = [verdict == "" for verdict in theirs]
        doubtful = [line for line, ok, mine in zip(lines, passed, ours, strict=True) if ok and mine]
        refused = self._refused_late(doubtful, machine)
        return [ok and line not in refused for line, ok in zip(lines, passed, strict=True)]

    def run_frames(self, name: str, machines: list[Machine]) -> Figures:
        """Compare the verdicts on modules of one instruction, header included."""
        figures = Figures(name, f"{len(machines)} machines", lines=len(machines))
        start = time.monotonic()
        for machine in machines:
            theirs, ours = (self._frame(judge, machine) for judge in (self.ptxas, self.verdict))
            figures.accepted += theirs == ""
            if (ours == "") == (theirs == ""):
                figures.agreed += 1
            else:
                figures.unknown.append(Difference("ret", machine, ours, theirs))
        figures.seconds = time.monotonic() - start
        return figures

    def _frame(self, judge: Ptxas | Verdict, machine: Machine) -> str:
        try:
            return judge.judge(["ret"], machine)[0]
        except FrameRefused as error:
            return str(error).removeprefix(f"{machine}: ")


def report(differences: list[Difference], shown: int) -> str:
    """Differences by family and kind, the most frequent first, with a few lines of each."""
    groups: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    for difference in differences:
        groups[(difference.family, difference.kind)].append(difference)
    by_family: dict[str, int] = defaultdict(int)
    for (family, _), members in groups.items():
        by_family[family] += len(members)
    text = []
    for (family, kind), members in sorted(
        groups.items(), key=lambda item: (-by_family[item[0][0]], item[0][0], -len(item[1]))
    ):
        text.append(f"{family}: {len(members)} x {kind}")
        for member in members[:shown]:
            reason = member.ours or member.theirs
            text.append(f"    [{member.machine}] {member.line}\n        {reason}")
    return "\n".join(text)
