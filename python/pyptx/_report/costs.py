# SPDX-License-Identifier: Apache-2.0
"""What an assembled kernel costs: registers, spills, shared memory, occupancy, machine code.

The numbers are the assembler's and the disassembler's own; the occupancy is worked out from the
limits of a multiprocessor. What no tool here can tell is None.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pyptx import _core, _progress, _toolchain

if TYPE_CHECKING:
    from pyptx._call.specialize import Traced


class SourceLine(NamedTuple):
    """A line of PTX text and the author's line that made it.

    `expansions` names the helpers and intrinsics in between, the innermost first.
    """

    ptx_line: int
    file: str
    line: int
    column: int
    expansions: tuple[str, ...] = ()


class LineCost(NamedTuple):
    """How many instructions a line of the author's became."""

    file: str
    line: int
    ptx: int
    sass: int


class Occupancy(NamedTuple):
    """How many CTAs a multiprocessor holds at once, and what keeps it from holding more."""

    ctas: int
    warps: int
    max_warps: int
    limited_by: str


class Costs(NamedTuple):
    """What an assembler says with -v. None is unknown."""

    registers: int | None
    spill_stores: int | None
    spill_loads: int | None
    stack: int | None
    barriers: int | None
    static_shared: int

    @classmethod
    def of(cls, log: str) -> Costs:
        """Read them from what it said."""
        return cls(
            registers=_number(log, r"Used (\d+) registers"),
            spill_stores=_number(log, r"(\d+) bytes spill stores"),
            spill_loads=_number(log, r"(\d+) bytes spill loads"),
            stack=_number(log, r"(\d+) bytes stack frame"),
            barriers=_number(log, r"used (\d+) barriers"),
            static_shared=_number(log, r"(\d+) bytes smem") or 0,
        )


@dataclass(frozen=True)
class Report:
    """What an assembled kernel costs. `print` shows it."""

    kernel: str
    target: str
    compiler: str
    registers: int | None
    spill_stores: int | None
    spill_loads: int | None
    stack: int | None
    barriers: int | None
    static_shared: int
    dynamic_shared: int
    threads: int
    occupancy: Occupancy | None
    instructions: dict[str, int] = field(repr=False)
    lines: list[LineCost] = field(repr=False)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from pyptx._view import notebook

        return notebook.report_html(self)

    def __str__(self) -> str:
        """Show it as a few lines of text and a table of lines."""

        def known(value: int | None, unit: str = "") -> str:
            return "unknown" if value is None else f"{value}{unit}"

        text = [
            f"{self.kernel} for {self.target}, by {self.compiler}",
            f"  registers      {known(self.registers)} per thread, {self.threads} threads per CTA",
            f"  spills         {known(self.spill_stores, ' B')} stored, "
            f"{known(self.spill_loads, ' B')} loaded; stack {known(self.stack, ' B')}",
            f"  shared memory  {self.static_shared} B static, {self.dynamic_shared} B dynamic",
        ]
        if self.occupancy is not None:
            o = self.occupancy
            text.append(
                f"  occupancy      {o.ctas} CTAs, {o.warps} of {o.max_warps} warps "
                f"per multiprocessor, limited by {o.limited_by}"
            )
        if self.instructions:
            mix = ", ".join(f"{name} {n}" for name, n in list(self.instructions.items())[:12])
            text.append(f"  SASS           {sum(self.instructions.values())} instructions: {mix}")
        text += [f"  {c.file}:{c.line}: {c.ptx} PTX, {c.sass} SASS" for c in self.lines]
        return "\n".join(text)


def make_report(
    kernel: str, traced: Traced, image: _core.KernelImage, *, threads: int, dynamic_shared: int
) -> Report:
    """Ask the assembler and the disassembler about a kernel."""
    target = traced.facts.target
    with _progress.shown(f"assembling {kernel}"):
        cubin, log, compiler = image.assemble(["-v"])
    costs = Costs.of(log)
    sass = _disassembly(cubin)
    return Report(
        kernel=kernel,
        target=target,
        compiler=compiler,
        **costs._asdict(),
        dynamic_shared=dynamic_shared,
        threads=threads,
        occupancy=occupancy(
            target,
            costs.registers,
            costs.static_shared + dynamic_shared,
            threads,
            costs.barriers or 0,
        ),
        instructions=dict(Counter(name for _, name in sass).most_common()),
        lines=_line_costs(traced, sass),
    )


def occupancy(
    target: str, registers: int | None, shared: int, threads: int, barriers: int = 0
) -> Occupancy | None:
    """Work out what a multiprocessor holds; None for a target or a kernel that is not known."""
    if registers is None:
        return None
    found = _core.occupancy(target, registers, shared, threads, barriers)
    return None if found is None else Occupancy(*found)


def _number(log: str, pattern: str) -> int | None:
    found = re.search(pattern, log)
    return None if found is None else int(found[1])


_SASS_LINE = re.compile(r'//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_SASS_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9_]*)")


def _disassembly(cubin: bytes) -> list[tuple[tuple[str, int] | None, str]]:
    """Return (author's line, mnemonic) of every machine instruction; nothing without the tool."""
    text = _toolchain.disassemble_with_lines(cubin)
    found: list[tuple[tuple[str, int] | None, str]] = []
    where = None
    for row in (text or "").splitlines():
        if line := _SASS_LINE.search(row):
            where = (line["file"], int(line["line"]))
        elif instruction := _SASS_INSTRUCTION.search(row):
            found.append((where, instruction["name"]))
    return found


def _line_costs(traced: Traced, sass: list[tuple[tuple[str, int] | None, str]]) -> list[LineCost]:
    ptx = Counter((row[1], row[2]) for row in traced.module.source_lines())
    machine = Counter(where for where, _ in sass if where is not None)
    return [
        LineCost(file, line, ptx[file, line], machine[file, line])
        for file, line in sorted({*ptx, *machine})
    ]
