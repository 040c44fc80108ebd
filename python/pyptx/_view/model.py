# SPDX-License-Identifier: Apache-2.0
"""What a page shows, as plain data that JSON takes: rows of three panes and the links between them.

Rows count from 0. The same kernel gives the same data; nothing here reads a clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyptx._view import listing as listings
from pyptx._view.assembled import Assembled
from pyptx._view.life import PREFIXES
from pyptx._view.live import live_counts
from pyptx._view.run import Run
from pyptx._view.sources import Sources, gather
from pyptx._view.subject import (
    Subject,
    explanations,
    instruction_spellings,
    pictures,
    shared_name,
)

#: A counter, its title, and what it counts.
_METRICS = (
    ("executed", "executed", "warp instructions executed"),
    ("lanes", "lanes", "thread instructions: active lanes, added up"),
    ("partial", "idle lanes", "warp instructions that left some lanes of the warp idle"),
    ("bank_conflicts", "bank conflicts", "wavefronts of shared memory that conflicts added"),
    ("sectors", "sectors", "sectors of 32 bytes of global memory"),
    ("bytes", "bytes", "bytes loaded and stored"),
)
#: How an assembler's words are passed on in a note.
_PTX_LINE = re.compile(r"^PTX line (\d+)")
#: Machine instructions that use local memory, which is where registers are spilled.
_LOCAL = ("LDL", "STL")
_SPILLED = '(*"SpillRefill"*)'


@dataclass(slots=True)
class Finding:
    """Something to be read on its lines: a diagnostic, a remark of the assembler, a spill."""

    severity: str
    code: str
    title: str
    text: str
    source: list[int]
    ptx: list[int]
    sass: list[int]


def build(subject: Subject, assembled: Assembled, run: Run | None) -> dict[str, Any]:
    """Put everything together."""
    diagnostics = [*subject.problems, *assembled.refused, *(run.findings if run else ())]
    places = [(one.file, one.line) for one in diagnostics if one.file and one.line]
    sources = gather(subject, places)
    findings = [_of_diagnostic(one, subject, sources) for one in diagnostics]
    findings += _of_assembler(subject, assembled, sources)
    rows = assembled.listing.rows
    return {
        "title": subject.title,
        "target": subject.target,
        "compiler": assembled.compiler,
        "facts": _facts(subject, assembled),
        "notices": _notices(subject, assembled, sources, run),
        "source": {
            "lines": [row.text for row in sources.rows],
            "numbers": [row.line for row in sources.rows],
        },
        "ptx": _ptx(subject, sources),
        "sass": _sass(rows, assembled),
        "findings": [vars_of(one) for one in findings],
        "heat": None if run is None or run.report is None else _heat(subject, sources, run),
        "timeline": _timeline(subject, run),
    }


def vars_of(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain data."""
    return {name: getattr(finding, name) for name in Finding.__dataclass_fields__}


def _facts(subject: Subject, assembled: Assembled) -> list[list[str]]:
    facts: list[list[str]] = []
    costs = assembled.costs
    if costs is not None:
        if costs.registers is not None:
            facts.append(["registers", str(costs.registers), "per thread"])
        spilled = (costs.spill_stores or 0) + (costs.spill_loads or 0)
        if costs.spill_stores is not None:
            title = f"{costs.spill_stores} B stored, {costs.spill_loads} B loaded"
            facts.append(["spills", f"{spilled} B" if spilled else "none", title])
        shared = costs.static_shared + subject.dynamic_shared
        title = f"{costs.static_shared} B static, {subject.dynamic_shared} B dynamic"
        facts.append(["shared", f"{shared} B", title])
    if subject.threads:
        facts.append(["threads", str(subject.threads), "of a CTA"])
    if assembled.occupancy is not None:
        o = assembled.occupancy
        title = f"{o.ctas} CTAs per multiprocessor, limited by {o.limited_by}"
        facts.append(["occupancy", f"{o.warps} of {o.max_warps} warps", title])
    return facts


def _notices(
    subject: Subject, assembled: Assembled, sources: Sources, run: Run | None
) -> list[str]:
    notices = list(assembled.problems)
    if subject.text.strip() and not subject.chains:
        notices.append(
            "No source: the PTX has no .loc lines. Kernels of pyptx have them unless "
            "PYPTX_LINEINFO=0; nvcc writes them with -lineinfo."
        )
    notices += [f"The source {file} cannot be read here." for file in sources.missing]
    if assembled.listing.rows and not any(row.ptx_line for row in assembled.listing.rows):
        notices.append("The machine code has no line table: it is not linked to the PTX.")
    return notices + (run.notes if run else [])


def _ptx(subject: Subject, sources: Sources) -> dict[str, Any]:
    lines = subject.text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    chains: dict[tuple[int, ...], int] = {}
    chain_of = [-1] * len(lines)
    for number, places in subject.chains.items():
        rows = tuple(sources.index[place] for place in places if place in sources.index)
        if rows and number <= len(lines):
            chain_of[number - 1] = chains.setdefault(rows, len(chains))
    spellings = instruction_spellings(subject)
    help_texts = explanations(sorted(set(spellings.values())))
    numbers = {spelling: index for index, spelling in enumerate(help_texts)}
    op = [-1] * len(lines)
    for number, spelling in spellings.items():
        if number <= len(lines):
            op[number - 1] = numbers.get(spelling, -1)
    live = [-1] * len(lines)
    for number, count in live_counts(subject.module).items():
        if number <= len(lines):
            live[number - 1] = count
    return {
        "lines": lines,
        "chains": [list(chain) for chain in chains],
        "chain": chain_of,
        "op": op,
        "help": [[spelling, text] for spelling, text in help_texts.items()],
        "pictures": {str(numbers[spelling]): svg for spelling, svg in pictures(numbers).items()},
        "helpers": {str(line - 1): list(names) for line, names in sorted(subject.helpers.items())},
        "live": live,
    }


def _sass(rows: Sequence[listings.Row], assembled: Assembled) -> dict[str, Any]:
    instruction_rows = [index for index, row in enumerate(rows) if row.address >= 0]
    live: dict[str, list[int]] = {}
    ranges: list[int] = []
    life = assembled.life
    if life is not None and instruction_rows:
        for kind, counts in life.counts.items():
            if any(counts):
                live[PREFIXES[kind]] = counts
        kinds = list(PREFIXES)
        for kind, number, first, last in life.ranges:
            ranges += (
                kinds.index(kind),
                number,
                instruction_rows[first],
                instruction_rows[last],
            )
    return {
        "lines": [row.text for row in rows],
        "address": [row.address for row in rows],
        "ptx": [row.ptx_line - 1 for row in rows],
        "control": [row.control for row in rows],
        "live": live,  # per instruction, without the labels
        "prefixes": list(PREFIXES.values()),
        "ranges": ranges,
    }


def _of_diagnostic(found: Any, subject: Subject, sources: Sources) -> Finding:
    # Its own line first, then those of its labels.
    lines = dict.fromkeys(line for line in (found.line, *(at for _, at, _ in found.labels)) if line)
    source, ptx = [], []
    if found.file == subject.file:
        ptx = [line - 1 for line in lines]
    elif found.file:
        places = ((found.file, line) for line in lines)
        source = [sources.index[place] for place in places if place in sources.index]
    else:
        ptx = [int(line) - 1 for note in found.notes for line in _PTX_LINE.findall(note)]
    return Finding(found.severity, found.code, found.message, str(found), source, ptx, [])


def _of_assembler(subject: Subject, assembled: Assembled, sources: Sources) -> Iterable[Finding]:
    for advice in assembled.advice:
        ptx = [advice.ptx_line - 1] if advice.ptx_line else []
        yield Finding(
            "advice", "", advice.text, f"{assembled.compiler}: {advice.text}", [], ptx, []
        )
    rows = assembled.listing.rows
    # Newer disassemblers say which they are; else all of local memory are meant.
    local = [i for i, row in enumerate(rows) if row.text.endswith(_SPILLED)]
    local = local or [i for i, row in enumerate(rows) if row.opcode.partition(".")[0] in _LOCAL]
    costs = assembled.costs
    if local and costs is not None and (costs.spill_stores or costs.spill_loads):
        title = f"{costs.spill_stores} bytes of registers spilled, {costs.spill_loads} loaded back"
        text = f"{title}, by {len(local)} instructions; the stack frame has {costs.stack} bytes"
        yield Finding("advice", "", title, text, [], [], local)
    if assembled.occupancy is not None and assembled.occupancy.ctas == 0:
        title = f"no CTA fits on a multiprocessor: {assembled.occupancy.limited_by}"
        yield Finding("warning", "", title, title, [], [], [])


def _heat(subject: Subject, sources: Sources, run: Run) -> dict[str, Any]:
    """Counters by PTX row; and by source row where instructions cannot be told apart."""
    assert run.report is not None
    lines = subject.instruction_lines()
    rows = run.report.instructions
    values: list[list[int]] = []
    kept = [metric for metric in _METRICS if any(_value(row, metric[0]) for row in rows)]
    is_known = len(lines) == len(rows)
    if is_known:
        for line, row in zip(lines, rows, strict=True):
            values.append([line - 1, *(_value(row, name) for name, _, _ in kept)])
    total = run.report.total
    return {
        "metrics": [[title, what] for _, title, what in kept],
        "ptx": values,
        "totals": [_value(total, name) for name, _, _ in kept],
        "table": str(run.report),
    }


def _value(row: Any, name: str) -> int:
    if name == "bytes":
        return int(row.bytes_loaded + row.bytes_stored)
    return int(getattr(row, name))


def _timeline(subject: Subject, run: Run | None) -> dict[str, Any] | None:
    if run is None or run.trace is None:
        return None
    lines = subject.instruction_lines()

    def row_of(number: int) -> int:
        return lines[number] - 1 if 0 <= number < len(lines) else -1

    return run.trace.as_data(row_of, lambda place: shared_name(subject, place))
