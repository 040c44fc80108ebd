# SPDX-License-Identifier: Apache-2.0
"""What a run on the emulator cost: instructions, lanes, bytes, bank conflicts, divergence.

The numbers are the emulator's own and say how a kernel uses the machine's model (32 banks of four
bytes, sectors of 32 bytes), not how long it takes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple

from pyptx._call.refusals import refuse
from pyptx._call.signature import whole_number
from pyptx._core import EmulatorStream
from pyptx._layout.seen import ShownTile, TensorUse


def run_words(given: tuple[Any, Any, Any, Any]) -> dict[str, str]:
    """Return schedule, numerics, tensor core and checks as words; None is the default of each.

    The emulator knows its words and refuses others by name.
    """
    names = ("schedule", "numerics", "tensor_core", "checks")
    named = zip(names, given, strict=True)
    return {name: str(word) for name, word in named if word is not None}


def run_options(given: tuple[Any, Any, Any, Any, Any, Any, Any]) -> dict[str, Any]:
    """Return seed, threads, report, trace, progress, limit and ignored codes for the emulator.

    None is the default of each, other kinds are refused.
    """
    seed, threads, report, trace, progress, limit, ignore = given
    options: dict[str, Any] = {}
    for name, value in (("seed", seed), ("threads", threads)):
        number = 0 if value is None else whole_number(value)
        bits = 64 if name == "seed" else 31
        if number is None or not 0 <= number < 1 << bits:
            allowed = f"a whole number from 0 to 2**{bits} - 1"
            refuse("OptionValue", name, allowed, f"not {value!r}")
        options[name] = number
    if report is not None and not isinstance(report, bool):
        refuse("OptionType", "report", "True or False", repr(report))
    options["counters"] = bool(report)
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        refuse("OptionType", "progress", "True, False or a function", repr(progress))
    options["progress"] = progress
    if not (trace is None or isinstance(trace, (str, bytes, os.PathLike))):
        refuse("OptionType", "trace", "the name of a file", repr(trace))
    options["trace"] = None if trace is None else os.fsdecode(trace)
    options["limits"] = limit_words(limit)
    codes = () if ignore is None else (ignore,) if isinstance(ignore, str) else ignore
    is_several = isinstance(codes, (tuple, list, set, frozenset))
    if not is_several or not all(isinstance(code, str) for code in codes):
        refuse("OptionType", "ignore", "a code or several of them ('PTX0931')", repr(ignore))
    return options | {"ignore": ",".join(codes)}


def stream_options(stream: Any, programmatic: Any) -> dict[str, Any]:
    """Return the stream of a launch, and whether it may overlap the one before it there."""
    if stream is not None and not isinstance(stream, EmulatorStream):
        refuse("OptionType", "stream", "a pyptx.EmulatorStream", repr(stream))
    if not isinstance(programmatic, bool):
        refuse("OptionType", "programmatic", "True or False", repr(programmatic))
    if programmatic and stream is None:
        refuse("LaunchPlace", "a programmatic launch", "follows another one: give stream= to both")
    return {"stream": stream, "programmatic": programmatic}


def limit_words(limit: Any) -> list[str]:
    """Return a limit, or a tuple of them, as the emulator's words, which say what is allowed.

    A number is warp instructions and never seconds: 2 and 2.0 must not differ so much.
    """
    words = []
    for one in limit if isinstance(limit, (tuple, list)) else () if limit is None else (limit,):
        number = whole_number(one)
        if isinstance(one, timedelta):
            words.append(f"{one.total_seconds():f}s")
        elif isinstance(one, str) or number is not None:
            words.append(one if number is None else str(number))
        else:
            refuse(
                "OptionType",
                "limit",
                "a whole number of warp instructions, a time as '2s' or '500ms', a timedelta, or a "
                "tuple of both",
                repr(one),
            )
    return words


class Traffic(NamedTuple):
    """One state space, or one direction of asynchronous copies: warp requests and bytes."""

    requests: int
    bytes_loaded: int
    bytes_stored: int


@dataclass(frozen=True)
class Cost:
    """Counts that add up over instructions.

    `executed` warp instructions ran with at least one lane, `skipped` with none that the guard
    admits; `partial` of the executed left some lanes of the warp idle; `lanes` are thread
    instructions. `bank_conflicts` are the `wavefronts` of shared memory that conflicts added;
    `sectors` are those of global memory.
    """

    executed: int = 0
    skipped: int = 0
    lanes: int = 0
    partial: int = 0
    bytes_loaded: int = 0
    bytes_stored: int = 0
    wavefronts: int = 0
    bank_conflicts: int = 0
    sectors: int = 0


@dataclass(frozen=True)
class CostRow(Cost):
    """The cost of one instruction, of one opcode or of one source line."""

    name: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class EmulatorReport:
    """What a run cost. `print` shows totals, traffic and the costliest opcodes and lines.

    `rows` are (instruction, warp instructions) in descending order; `opcodes` and `lines` descend
    too, `instructions` are in program order, with `profile()` as their table. `shown` are the tiles
    of `ptx.show`. `pyptx.layout.bank_use` and `pyptx.layout.tensor_memory` draw what else is in it.
    """

    warp_instructions: int = 0
    rows: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    total: Cost = field(default_factory=Cost)
    branches: int = 0
    divergent_branches: int = 0
    traffic: Mapping[str, Traffic] = field(default_factory=dict)
    opcodes: tuple[CostRow, ...] = field(default=(), repr=False)
    instructions: tuple[CostRow, ...] = field(default=(), repr=False)
    lines: tuple[CostRow, ...] = field(default=(), repr=False)
    bank_rows: tuple[tuple[int, Any, Any, int], ...] = field(default=(), repr=False)
    shown: tuple[ShownTile, ...] = field(default=(), repr=False)
    tensor_uses: tuple[TensorUse, ...] = field(default=(), repr=False)
    text: str = field(default="", repr=False)
    profile_text: str = field(default="", repr=False)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> EmulatorReport:
        """Read what `_core.emulate` returns."""
        counters = report.get("counters")
        shown = tuple(ShownTile(*tile) for tile in report.get("shown", ()))
        if counters is None:
            return cls(shown=shown)
        return cls(
            warp_instructions=report["warp_instructions"],
            rows=tuple(report["rows"]),
            total=Cost(*counters["total"]),
            branches=counters["branches"],
            divergent_branches=counters["divergent_branches"],
            traffic={space: Traffic(*counts) for space, *counts in counters["traffic"]},
            opcodes=tuple(CostRow(*row) for row in counters["opcodes"]),
            instructions=tuple(CostRow(*row) for row in counters["instructions"]),
            lines=tuple(CostRow(*row) for row in counters["lines"]),
            bank_rows=tuple(counters["banks"]),
            shown=shown,
            tensor_uses=tuple(TensorUse(*use) for use in report["tensor_uses"]),
            text=counters["text"],
            profile_text=counters["profile"],
        )

    @property
    def average_lanes(self) -> float:
        """Active lanes of an executed warp instruction, on average."""
        return self.total.lanes / self.total.executed if self.total.executed else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers, as JSON takes them."""
        out = asdict(self)
        out["average_lanes"] = self.average_lanes
        out["traffic"] = {space: counts._asdict() for space, counts in self.traffic.items()}
        for table in ("text", "profile_text"):
            del out[table]
        return out

    def profile(self) -> str:
        """Return a table with a row per instruction, in program order.

        An instruction that one line made several times, as an unrolled loop does, has one row.
        """
        return self.profile_text

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from pyptx._view import notebook

        return notebook.emulator_report_html(self)

    def __str__(self) -> str:
        """Return the table of totals, traffic, opcodes and lines."""
        return self.text
