# SPDX-License-Identifier: Apache-2.0
"""Which lane and register holds which element: the fragments of an instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pyptx._core import layout as core
from pyptx._layout.instructions import find_spelling, words_of
from pyptx._layout.picture import Cell, Grid, Part, Picture
from pyptx._layout.refusals import refuse_unknown

Owner = tuple[int, int, int]  # thread, register, element of the register
Place = tuple[int, int, int]  # row, column, matrix
Owners = Mapping[Place, Sequence[Owner]]

_MOST_COLUMNS = 32  # of a grid that nobody asked to be wider
_AXES = {
    "mk": ("m", "k"),
    "kn": ("k", "n"),
    "mn": ("m", "n"),
    "memory": ("row", "element of the row"),
    "tensor": ("lane", "column"),
}
_MATRICES = {
    "memory": ("matrix {}",) * 4,
    "tensor": ("columns from the address on", "columns from the second address on"),
}
_NAMES = {"mk": "M x K", "kn": "K x N", "mn": "M x N"}


def fragment(
    *words: str,
    operand: str | None = None,
    rows: range | None = None,
    columns: range | None = None,
) -> Picture:
    """Draw which thread and register holds which element of an instruction's operands.

    The words are an instruction's, all or only those that matter: `"mma", "m16n8k16", "f16"`,
    `"wgmma.m64n128k16.bf16"`, `"ldmatrix.x4.trans"`, `"tcgen05.ld.32x32b.x8"`. `operand` is one of
    them by the manual's letter ("a", "b", "c", "d", "r"); a large one shows its first columns and
    what the others are like, unless `rows` and `columns` say which.
    """
    spelling = find_spelling(words_of(*words))
    operands = core.fragments(spelling)
    if operand is not None:
        names = [one.operand for one in operands]
        operands = [one for one in operands if one.operand == operand]
        if not operands:
            refuse_unknown(f"fragment of {spelling}:", operand, names)
    elif len(operands) == 4:
        operands = _without_repeats(operands)
    parts: list[Part] = []
    notes: list[str] = []
    for one in operands:
        owners = owners_of(one)
        window = Window(one, owners, rows, columns)
        parts += _grids(one, owners, window, _name(one, operands))
        notes += window.notes()
        notes += [note for note in _operand_notes(one) if note not in notes]
    what = ", ".join(one.operand.upper() for one in operands)
    return Picture(
        f"{spelling}",
        f"Which thread (T) and which of its registers (r) holds each element of {what} of "
        f"{spelling}.",
        tuple(parts),
        tuple(dict.fromkeys(notes)),
        facts={"spelling": spelling, "operands": tuple(operands)},
    )


def _without_repeats(
    operands: Sequence[core.OperandFragment],
) -> list[core.OperandFragment]:
    """Leave C away where it lies as D does."""
    d, a, b, c = operands
    alike = d.element_bits == c.element_bits and d.fragment.registers == c.fragment.registers
    return [d, a, b] if alike else [d, a, b, c]


def _name(one: core.OperandFragment, all_of_them: Sequence[core.OperandFragment]) -> str:
    is_for_c = one.operand == "d" and len(all_of_them) == 3
    letter = "D and C" if is_for_c else one.operand.upper() if one.axes in _NAMES else one.operand
    count = one.fragment.registers
    packed = one.fragment.elements
    each = f"{count} register{'s' if count > 1 else ''} of {one.register_bits} bits"
    words = f"{letter}: {one.rows} x {one.columns}"
    if one.axes in _NAMES:
        words += f" ({_NAMES[one.axes]}{', stored elements' if one.is_compressed else ''})"
    words += f", {each}"
    return words + (f", {packed} elements in each" if packed > 1 else "")


def owners_of(one: core.OperandFragment) -> dict[Place, list[Owner]]:
    """Return who holds each place."""
    owners: dict[Place, list[Owner]] = {}
    at = one.fragment.at
    for thread in range(one.fragment.threads):
        for register in range(one.fragment.registers):
            for element in range(one.fragment.elements):
                row, column, matrix = at(thread, register, element)
                owners.setdefault((row, column, matrix), []).append((thread, register, element))
    return owners


class Window:
    """What of a fragment is shown, and what can be said of the rest."""

    def __init__(
        self,
        one: core.OperandFragment,
        owners: Owners,
        rows: range | None,
        columns: range | None,
    ) -> None:
        self._one = one
        self._owners = owners
        is_group = one.fragment.threads > 32
        height = one.rows // 4 if is_group else one.rows
        wide = one.columns if one.columns <= 2 * _MOST_COLUMNS else _MOST_COLUMNS
        self.is_chosen = rows is not None or columns is not None
        self.rows = _within(rows, one.rows) if rows else range(height)
        self.columns = _within(columns, one.columns) if columns else range(wide)

    def notes(self) -> Iterator[str]:
        """Say what is left out; only what holds for every element of it."""
        if self.is_chosen:
            return
        letter = self._one.operand
        step = len(self.rows)
        if step < self._one.rows and self._repeats((step, 0), lambda t, r: (t + 32, r)):
            yield (
                f"{letter}: warp w of the warpgroup has {_AXES[self._one.axes][0]} {step} w to "
                f"{step} w + {step - 1}: threads 32 w to 32 w + 31 in the same order, in the same "
                f"registers."
            )
        if len(self.columns) < self._one.columns:
            yield from self._column_note(letter)

    def _column_note(self, letter: str) -> Iterator[str]:
        for step in (1, 2, 4, 8, 16, 32):
            of = self._owners.get((0, step, 0))
            first = self._owners[0, 0, 0][0]
            if not of or of[0][0] != first[0] or of[0][2] != first[2]:
                continue
            ahead = of[0][1] - first[1]
            if self._repeats((0, step), lambda t, r, by=ahead: (t, r + by)):  # type: ignore[misc]
                yield (
                    f"{letter}: columns {len(self.columns)} to {self._one.columns - 1} are not "
                    f"shown: each {step} columns further on are {ahead} registers further on, in "
                    f"the same threads."
                )
                return

    def _repeats(self, by: tuple[int, int], moved: Callable[[int, int], tuple[int, int]]) -> bool:
        """Whether every place has its owner's likeness that much further on."""
        for (row, column, matrix), owners in self._owners.items():
            there = self._owners.get((row + by[0], column + by[1], matrix))
            if there is None:
                continue
            if [(*moved(t, r), e) for t, r, e in owners] != list(there):
                return False
        return True


def _within(given: range, limit: int) -> range:
    return range(max(given.start, 0), min(given.stop, limit))


def _grids(one: core.OperandFragment, owners: Owners, window: Window, name: str) -> Iterator[Grid]:
    row_title, column_title = _AXES[one.axes]
    by_column = one.address_by_column
    for matrix in range(one.matrices):
        rows = [str(row) for row in window.rows]
        columns = [str(column) for column in window.columns]
        if one.address_rows and not by_column:
            rows = [f"{row} (T{one.address_rows * matrix + row})" for row in window.rows]
        if by_column:
            columns = [f"{c} (T{one.address_rows * matrix + c})" for c in window.columns]
        title = name if one.matrices == 1 else f"{name}, {_matrix_name(one, matrix)}"
        yield Grid(
            rows,
            columns,
            list(_cells(one, owners, window, matrix)),
            title,
            row_title,
            "column: a row of memory" if by_column else column_title,
        )


def _matrix_name(one: core.OperandFragment, matrix: int) -> str:
    return _MATRICES.get(one.axes, ("product {}",) * 4)[matrix].format(matrix)


def _cells(
    one: core.OperandFragment, owners: Owners, window: Window, matrix: int
) -> Iterator[Cell]:
    """Yield a box for each run of elements of one register, side by side or one above the other."""
    done: set[tuple[int, int]] = set()
    for row in window.rows:
        for column in window.columns:
            of = owners.get((row, column, matrix))
            if of is None or (row, column) in done:
                continue
            wide, high = _run(owners, window, (row, column, matrix))
            for i in range(high):
                done.update((row + i, column + j) for j in range(wide))
            text = " ".join(f"T{thread} r{register}" for thread, register in _holders(of))
            yield Cell(
                row - window.rows.start,
                column - window.columns.start,
                text,
                _detail(one, of, (row, column), (wide, high)),
                group=of[0][0] % 8,
                width=wide,
                height=high,
            )


def _holders(of: Sequence[Owner]) -> list[tuple[int, int]]:
    return list(dict.fromkeys((thread, register) for thread, register, _ in of))


def _run(owners: Owners, window: Window, at: Place) -> tuple[int, int]:
    """Return how many columns and rows from here on are the next elements of the same registers."""
    row, column, matrix = at
    of = owners[at]
    wide = 1
    while column + wide in window.columns and _follows(
        of, owners.get((row, column + wide, matrix)), wide
    ):
        wide += 1
    if wide > 1:
        return wide, 1
    high = 1
    while row + high in window.rows and _follows(
        of, owners.get((row + high, column, matrix)), high
    ):
        high += 1
    return 1, high


def _follows(of: Sequence[Owner], there: Sequence[Owner] | None, steps: int) -> bool:
    return there is not None and [(t, r, e + steps) for t, r, e in of] == list(there)


def _detail(
    one: core.OperandFragment, of: Sequence[Owner], at: tuple[int, int], run: tuple[int, int]
) -> str:
    thread, register, element = of[0]
    row_title, column_title = _AXES[one.axes]
    rows = _span(at[0], run[1])
    columns = _span(at[1], run[0])
    bits = one.element_bits
    last = element + run[0] * run[1] - 1
    where = (
        "" if one.fragment.elements == 1 else f", bits {bits * element}-{bits * last + bits - 1}"
    )
    return (
        f"{row_title} {rows}, {column_title} {columns}: thread {thread}, register {register}{where}"
    )


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _operand_notes(one: core.OperandFragment) -> Iterator[str]:
    if one.fragment.elements > 1:
        yield "The elements of a register begin with its lowest bits."
    if one.address_rows:
        yield "(T0), (T1), ...: the thread whose address is that row's."
    if one.is_compressed:
        yield "A is sparse: k counts stored elements, the metadata says where they are."
