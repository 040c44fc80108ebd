# SPDX-License-Identifier: Apache-2.0
"""Kernels of many small cases: each loads its operands, runs a few lines, stores what came out.

A case names its registers; every thread runs it on values of its own (see `inputs`). A case may ask
for memory: `{mem}` in its text is then the address of bytes of the thread's own result, `{cell}` of
bytes in shared memory.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isagen.model import load
from isagen.table import Table

from .inputs import CASES, Pool
from .launch import Launch, Part

ROOT = Path(__file__).resolve().parents[2]
VERSION = "9.0"  # what the driver of the recording machine reads
GROUP = 64  # cases in one kernel
BLOCK = 128
CELL = 16  # bytes of shared memory for each thread


@dataclass(frozen=True)
class Use:
    """A register of a case: its name, its storage type, and the type of its value."""

    name: str
    storage: str
    type: str
    position: int


@dataclass(frozen=True)
class Case:
    """A few lines with their operands; outputs start as zero where `text` may skip them."""

    text: str
    inputs: tuple[Use, ...]
    outputs: tuple[Use, ...]
    memory: int = 0  # bytes for {mem}
    name: str = ""  # the key, where the text is not good enough
    is_partial: bool = False  # not every lane writes the outputs

    @property
    def key(self) -> str:
        """What the case is recorded under."""
        return self.name or self.text


@functools.cache
def table() -> Table:
    """Return the instruction table."""
    return load(ROOT / "isa")


@functools.cache
def pool() -> Pool:
    """Return the operand values."""
    return Pool()


_BYTES = {"pred": 1, "b128": 16}


def _width(storage: str) -> int:
    known = _BYTES.get(storage)
    if known:
        return known
    entry = table().type_named(storage)
    assert entry is not None, storage
    return max(1, entry.bits // 8)


def _load(use: Use) -> str:
    name = "u8" if use.type == "pred" else use.type
    place = pool().place(name, use.position)
    if use.storage == "pred":
        load = f"ld.global.u8 byte, [in1+{place}]; and.b16 byte, byte, 1;"
        return f"{load} setp.ne.u16 {use.name}, byte, 0;"
    if use.storage == "b128":
        return (
            f"ld.global.v2.b64 {{low, high}}, [in16+{place}]; mov.b128 {use.name}, {{low, high}};"
        )
    width = _width(use.storage)
    return f"ld.global.b{8 * width} {use.name}, [in{width}+{place}];"


def _store(use: Use, base: str, place: int) -> str:
    if use.storage == "pred":
        return f"selp.u16 byte, 1, 0, {use.name}; st.global.u8 [{base}+{place}], byte;"
    if use.storage == "b128":
        return (
            f"mov.b128 {{low, high}}, {use.name}; st.global.v2.b64 [{base}+{place}], {{low, high}};"
        )
    return f"st.global.b{8 * _width(use.storage)} [{base}+{place}], {use.name};"


def _clear(use: Use) -> str:
    if use.storage == "pred":
        return f"setp.ne.u32 {use.name}, 0, 0;"
    return f"mov.b{8 * _width(use.storage)} {use.name}, 0;"


def _placed(text: str, place: int) -> str:
    """Return the lines of a case with its addresses; no semicolon follows a block."""
    lines = text.replace("{mem}", f"place+{place}").replace("{cell}", "cell")
    return f"{lines};".replace("; };", "; }")


def _element(case: Case) -> tuple[list[int], int]:
    """Where each output lies in a result, and the size of a result."""
    places = []
    end = case.memory
    for use in case.outputs:
        width = _width(use.storage)
        end = -(-end // width) * width
        places.append(end)
        end += width
    largest = max([_width(use.storage) for use in case.outputs] + [case.memory, 1])
    return places, -(-end // largest) * largest


def _kernel(cases: list[Case], target: str) -> tuple[str, list[tuple[int, int]], int]:
    """Return the text, the start and element of each case's results, and the size of all."""
    lines: list[str] = []
    spans: list[tuple[int, int]] = []
    total = 0
    for case in cases:
        places, element = _element(case)
        total = -(-total // 256) * 256
        spans.append((total, element))
        uses = dict.fromkeys([*case.inputs, *case.outputs])
        declared = dict.fromkeys((use.storage, use.name) for use in uses)
        lines.append("{")
        lines += [f".reg .{storage} {name};" for storage, name in declared]
        lines += [_load(use) for use in dict.fromkeys(case.inputs)]
        lines.append(f"mad.wide.u32 place, index, {element}, out;")
        if case.is_partial:
            lines += [_clear(use) for use in case.outputs]
        lines.append(_placed(case.text, total))
        lines += [
            _store(use, "place", total + place)
            for use, place in zip(case.outputs, places, strict=True)
        ]
        lines.append("}")
        total += element * CASES
    head = [
        f".version {VERSION}", f".target {target}", ".address_size 64",
        ".visible .entry k(.param .u64 inputs, .param .u64 outputs) {",
        ".reg .u32 index, thread, block, size; .reg .u64 in, out, place, low, high;",
        ".reg .u64 in1, in2, in4, in8, in16; .reg .u16 byte; .reg .u32 cell;",
        f".shared .align 16 .b8 cells[{BLOCK * CELL}];",
        "mov.u32 thread, %tid.x; mov.u32 block, %ctaid.x; mov.u32 size, %ntid.x;",
        "mad.lo.u32 index, block, size, thread; mov.u32 cell, cells;",
        f"mad.lo.u32 cell, thread, {CELL}, cell;",
        "ld.param.u64 in, [inputs]; ld.param.u64 out, [outputs];",
        *(f"mad.wide.u32 in{width}, index, {width}, in;" for width in (1, 2, 4, 8, 16)),
    ]  # fmt: skip
    return "\n".join([*head, *lines, "ret;", "}", ""]), spans, total


def _describe(case: Case, number: int) -> str:
    values = {
        use.name: pool().text("u8" if use.type == "pred" else use.type, use.position, number)
        for use in case.inputs
    }
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def make_launch(name: str, cases: list[Case], target: str) -> Launch:
    """Put cases into one kernel."""
    text, spans, total = _kernel(cases, target)
    parts = [
        Part(case.key, 1, start, element, CASES, functools.partial(_describe, case))
        for case, (start, element) in zip(cases, spans, strict=True)
    ]
    buffers = [pool().buffer, np.zeros(max(total, 16), np.uint8)]
    launch = Launch(
        name, target, buffers, parts, text, grid=(CASES // BLOCK, 1, 1), block=(BLOCK, 1, 1)
    )
    if len(cases) > 1:
        launch.singles = lambda: [make_launch(case.key, [case], target) for case in cases]
    return launch


def grouped(name: str, cases: Iterable[Case], target: str) -> Iterator[Launch]:
    """Put cases into launches of GROUP cases; of cases with one key the first counts."""
    listed = list({case.key: case for case in reversed(list(cases))}.values())[::-1]
    for start in range(0, len(listed), GROUP):
        part = f"{name}.{start // GROUP}" if len(listed) > GROUP else name
        yield make_launch(part, listed[start : start + GROUP], target)
