# SPDX-License-Identifier: Apache-2.0
"""What an emulated run did: tiles that it showed, banks that a line used, tensor memory over time.

All of it is in the report of `Kernel.emulate(..., report=True)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyptx._layout.picture import Cell, Grid, Part, Picture, Table
from pyptx._layout.refusals import refuse_argument
from pyptx._layout.seen import BankUse, ShownTile, TensorUse
from pyptx._layout.shared import banks

if TYPE_CHECKING:
    from pyptx._call.emulation import EmulatorReport

_MOST_ROWS = 64
_MOST_COLUMNS = 32
_SLOTS = 48  # of time
_UNIT = 32  # columns of tensor memory that a row stands for
_TENSOR_COLUMNS = 512


def tile_picture(tile: ShownTile) -> Picture:
    """Draw the tile in its logical order."""
    columns = tile.shape[-1] if tile.shape else 1
    rows = tile.shape[-2] if len(tile.shape) > 1 else 1
    size = max(1, rows * columns)
    grids: list[Part] = []
    for stage in range(len(tile.elements) // size):
        part = tile.elements[stage * size : (stage + 1) * size]
        title = f"[{stage}]" if len(tile.elements) > size else ""
        grids.append(_matrix(part, rows, columns, title))
    swizzle = "" if tile.swizzle == "none" else f", swizzle {tile.swizzle}"
    shape = " x ".join(str(extent) for extent in tile.shape)
    notes = [f"At shared address {tile.address:#x}, in CTA {tuple(tile.cta)}."]
    if rows > _MOST_ROWS or columns > _MOST_COLUMNS:
        notes.append(f"The first {_MOST_ROWS} rows and {_MOST_COLUMNS} columns.")
    if "?" in tile.elements:
        notes.append("?: nobody wrote it.")
    return Picture(
        f"{tile.name}: {tile.type} {shape}{swizzle}",
        f"What was in a tile of shared memory when pass {tile.number} of the CTA came by "
        f"{tile.place}.",
        tuple(grids),
        tuple(notes),
        facts=tile._asdict(),
    )


def _matrix(part: Sequence[str], rows: int, columns: int, title: str) -> Grid:
    shown_rows, shown_columns = min(rows, _MOST_ROWS), min(columns, _MOST_COLUMNS)
    sizes = [abs(number) for word in part if (number := _number(word)) is not None]
    largest = max((size for size in sizes if size < float("inf")), default=0.0)
    cells = []
    for row in range(shown_rows):
        for column in range(shown_columns):
            word = part[row * columns + column]
            number = _number(word)
            heat = None
            if number is not None and largest > 0:
                heat = min(abs(number) / largest, 1.0)
            detail = f"row {row}, column {column}: {word}"
            cells.append(Cell(row, column, word, detail, heat=heat, is_marked=word == "?"))
    return Grid(
        [str(row) for row in range(shown_rows)],
        [str(column) for column in range(shown_columns)],
        cells,
        title,
        "row",
        "column; a shade is a magnitude",
    )


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return None if number != number else number


def bank_use(
    report: EmulatorReport, *, line: int | None = None, instruction: str | None = None
) -> Picture:
    """Draw which banks of shared memory a run used and how often, one row per instruction.

    `report` is that of an emulated run. With `line`, of the kernel's source, or `instruction`, the
    start of its spelling, it is those instructions alone, and the worst access of each is drawn
    lane by lane.
    """
    uses = _bank_uses(report)
    if not uses:
        refuse_argument("the report", "of a run with report=True that used shared memory", "this")
    is_chosen = line is not None or instruction is not None
    found = [
        use
        for use in uses
        if (line is None or use.line == line)
        and (instruction is None or use.name.startswith(instruction))
    ]
    if not found:
        lines = ", ".join(str(one) for one in sorted({use.line for use in uses}))
        what = "line" if line is not None else "instruction"
        names = ", ".join(dict.fromkeys(use.name for use in uses))
        known = lines if line is not None else names
        refuse_argument(what, f"one that uses shared memory ({known})", line or instruction)
    parts: list[Part] = [_use_grid(found)]
    if is_chosen:
        for use in found:
            worst = banks(use.addresses, bytes=use.bytes)
            grids = [part for part in worst.parts if isinstance(part, Grid)]
            parts += [
                Grid(
                    grid.rows,
                    grid.columns,
                    grid.cells,
                    f"{_where(use)}: its worst access, {grid.title}",
                    grid.row_title,
                    grid.column_title,
                )
                for grid in grids
            ]
    taken = sum(use.wavefronts for use in found)
    conflicts = sum(use.bank_conflicts for use in found)
    return Picture(
        f"Banks of shared memory: {taken} wavefronts, {conflicts} of them conflicts",
        "How many different words each bank gave, by instruction.",
        tuple(parts),
        facts={"uses": tuple(found), "wavefronts": taken, "conflicts": conflicts},
    )


def _bank_uses(report: EmulatorReport) -> list[BankUse]:
    uses = []
    for number, words, addresses, size in report.bank_rows:
        row = report.instructions[number]
        uses.append(
            BankUse(
                row.name,
                row.file,
                row.line,
                row.wavefronts,
                row.bank_conflicts,
                tuple(words),
                tuple(addresses),
                size,
            )
        )
    return uses


def _where(use: BankUse) -> str:
    place = f"{use.file.rsplit('/', 1)[-1]}:{use.line} " if use.line else ""
    return f"{place}{use.name}"


def _use_grid(uses: Sequence[BankUse]) -> Grid:
    most = max(max(use.words) for use in uses) or 1
    cells = [
        Cell(
            row,
            bank,
            str(count),
            f"bank {bank} gave {count} words to {_where(use)}",
            heat=count / most,
        )
        for row, use in enumerate(uses)
        for bank, count in enumerate(use.words)
    ]
    names = [
        f"{_where(use)}: {use.wavefronts} wavefronts, {use.bank_conflicts} conflicts"
        for use in uses
    ]
    return Grid(names, [str(bank) for bank in range(32)], cells, "", "", "bank: words that it gave")


def tensor_memory(report: EmulatorReport, *, cta: int = 0) -> Picture:
    """Draw tensor memory over time, by column: allocations, products, copies, loads and stores.

    `report` is that of an emulated run; time goes from left to right in warp instructions of the
    cluster. `cta` is the CTA's rank in the first cluster of the grid.
    """
    uses = [use for use in report.tensor_uses if use.cta == cta]
    if not uses:
        ranks = sorted({use.cta for use in report.tensor_uses})
        allowed = (
            f"one of {ranks}" if ranks else "of a run with report=True that used tensor memory"
        )
        refuse_argument("cta" if ranks else "the report", allowed, cta if ranks else "this")
    end = max(use.end for use in uses)
    times = sorted({use.start for use in uses} | {use.end for use in uses})
    step = max(1, -(-len(times) // _SLOTS))
    slots = times[::step]
    rows = [f"{first}-{first + _UNIT - 1}" for first in range(0, _TENSOR_COLUMNS, _UNIT)]
    order = {"alloc": 0, "ld": 1, "st": 2, "cp": 3, "mma": 4}
    cells = [
        _use_cell(use, slots) for use in sorted(uses, key=lambda use: (order[use.kind], use.start))
    ]
    return Picture(
        f"Tensor memory of CTA {cta} over {end} warp instructions",
        "Which columns of tensor memory were allocated, written and read, and when.",
        (
            Grid(
                rows,
                [str(slot) for slot in slots],
                cells,
                "",
                "columns",
                "warp instructions of the cluster so far",
            ),
            Table(
                ("time", "columns", "lanes", "what", "where"),
                [
                    (
                        f"{use.start}-{use.end}",
                        f"{use.first}-{use.first + use.columns - 1}",
                        _lanes(use.halves),
                        _what(use),
                        f"{use.place} warp {use.warp}",
                    )
                    for use in sorted(uses, key=lambda use: use.start)[:_MOST_ROWS]
                ],
            ),
        ),
        facts={"uses": tuple(uses)},
    )


_GROUPS = {"ld": 2, "st": 1, "cp": 4, "mma": 0}


def _use_cell(use: TensorUse, slots: Sequence[int]) -> Cell:
    begin = max((i for i, slot in enumerate(slots) if slot <= use.start), default=0)
    end = max((i for i, slot in enumerate(slots) if slot < use.end), default=begin)
    low = use.first // _UNIT
    high = (use.first + use.columns - 1) // _UNIT
    return Cell(
        low,
        begin,
        "" if use.kind not in _GROUPS else use.kind,
        f"{use.name}: columns {use.first}-{use.first + use.columns - 1}, {use.start}-{use.end}, "
        f"warp {use.warp}, {use.place}",
        group=_GROUPS.get(use.kind),
        width=max(1, end - begin + 1),
        height=min(high, _TENSOR_COLUMNS // _UNIT - 1) - low + 1,
    )


def _what(use: TensorUse) -> str:
    is_read = use.kind in _GROUPS and not use.is_write
    return f"{use.name} (reads)" if is_read else use.name


def _lanes(halves: int) -> str:
    """Return the lanes of a mask of sixteens: "0-127", "0-15, 32-47"."""
    runs: list[list[int]] = []
    for i in range(8):
        if not halves >> i & 1:
            continue
        if runs and runs[-1][1] == 16 * i - 1:
            runs[-1][1] += 16
        else:
            runs.append([16 * i, 16 * i + 15])
    return ", ".join(f"{low}-{high}" for low, high in runs)
