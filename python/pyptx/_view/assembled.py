# SPDX-License-Identifier: Apache-2.0
"""What the assembler made of the PTX: machine code, registers, advice; or why there is none.

Nothing here raises for a kernel that does not assemble or a tool that is not there: the page says
so and shows the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pyptx import _core, _progress, _toolchain
from pyptx._errors import Error
from pyptx._report.costs import Costs, Occupancy, occupancy
from pyptx._view import life as life_ranges
from pyptx._view import listing as listings
from pyptx._view.subject import Subject

#: -lineinfo keeps which PTX line an instruction came from; the instructions are the same.
_FLAGS = ["-v", "-lineinfo"]
#: What an assembler says in a line of its own. Its facts are read elsewhere (Costs.of).
_ADVICE = re.compile(r"^.*?(?:ptxas\s+)?(?P<what>warning|error|fatal|info)\s*:\s*(?P<text>.*)$")
_ADVICE_WORDS = re.compile(r"warning|performance loss|serializ|advis|spill|ignored", re.IGNORECASE)
_FACT = re.compile(
    r"Used \d+ registers|Function properties|Compiling entry|bytes gmem|Compile time"
)
_LINE = re.compile(r"line (\d+)")


@dataclass(slots=True)
class Advice:
    """A remark of the assembler, with the line of PTX that it names, or 0."""

    text: str
    ptx_line: int = 0


@dataclass(slots=True)
class Assembled:
    """What there is; `problems` say what there is not, and why."""

    compiler: str = ""
    costs: Costs | None = None
    occupancy: Occupancy | None = None
    listing: listings.Listing = field(default_factory=listings.Listing)
    life: life_ranges.Life | None = None
    advice: list[Advice] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refused: list[Any] = field(default_factory=list)  # diagnostics of the assembler


def assemble(subject: Subject, compiler: str = "best") -> Assembled:
    """Assemble and disassemble."""
    made = Assembled()
    missing = _toolchain.missing_assembler()
    if missing is not None:
        made.problems.append(f"No machine code: {missing}")
        return made
    try:
        with _progress.shown(f"assembling {subject.title}"):
            cubin, log, made.compiler = _core.assemble(
                subject.text, subject.target, _FLAGS, compiler=compiler
            )
    except Error as error:
        made.refused = list(error.diagnostics)
        made.problems.append("No machine code: the assembler refused the PTX.")
        return made
    made.costs = Costs.of(log)
    made.advice = advice_of(log)
    if subject.threads:
        shared = made.costs.static_shared + subject.dynamic_shared
        made.occupancy = occupancy(
            subject.target, made.costs.registers, shared, subject.threads, made.costs.barriers or 0
        )
    _disassemble(made, bytes(cubin))
    return made


def _disassemble(made: Assembled, cubin: bytes) -> None:
    try:
        text = _toolchain.run_nvdisasm(cubin, "-gp", "-hex", "-c")
    except RuntimeError as error:
        made.problems.append(f"No machine code: {error}")
        return
    if text is None:
        made.problems.append(f"No machine code: {_toolchain.missing_disassembler()}")
        return
    made.listing = listings.read(text)
    instructions = made.listing.instructions
    if len(instructions) > life_ranges.MOST_INSTRUCTIONS:
        made.problems.append(
            f"No live registers of the machine code: it has {len(instructions)} instructions, and "
            f"beyond {life_ranges.MOST_INSTRUCTIONS} nvdisasm takes too long to tell. Those of the "
            "PTX are shown."
        )
        return
    drawn = _toolchain.run_nvdisasm(cubin, "-c", "-lrm", "narrow")
    made.life = life_ranges.read(drawn or "", instructions)


def advice_of(log: str) -> list[Advice]:
    """Return the remarks in what an assembler said, without the facts that it always states."""
    found: list[Advice] = []
    for raw in log.splitlines():
        said = _ADVICE.match(raw)
        if said is None or _FACT.search(raw):
            continue
        if said["what"] == "info" and not _ADVICE_WORDS.search(said["text"]):
            continue
        line = _LINE.search(raw)
        found.append(Advice(said["text"].strip(), int(line[1]) if line else 0))
    return found
