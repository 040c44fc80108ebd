# SPDX-License-Identifier: Apache-2.0
"""What goes with the operands of mma: the metadata of a sparse A, and block scales."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pyptx._core import layout as core
from pyptx._layout.instructions import find_spelling, words_of
from pyptx._layout.picture import Cell, Grid, Picture
from pyptx._layout.refusals import refuse_argument, refuse_unknown


def metadata(*words: str, selector: int = 0) -> Picture:
    """Draw which bits of which thread's metadata belong to each chunk of a sparse A.

    The words are those of an mma.sp: `"mma.sp m16n8k32 f16"`. Four bits name the two places (tf32:
    the one) of a chunk of four (tf32: two) elements along K that are stored; of 4-bit elements,
    two pairs of four.
    """
    spelling, a = _operand(words, "a")
    if a is None or not a.is_compressed:
        refuse_unknown("metadata of", spelling, (), ["a sparse product is mma.sp"])
    bits, stored = a.element_bits, a.columns
    threads = core.metadata_threads(bits, stored)
    last = 4 // threads - 1
    if not 0 <= selector <= last:
        refuse_argument("selector", f"from 0 to {last} here", selector)
    kept = core.metadata_chunk(bits)
    chunks = stored // kept
    cells = []
    for row in range(a.rows):
        for chunk in range(chunks):
            thread, bit = core.metadata(bits, stored, selector, row, chunk)
            cells.append(
                Cell(
                    row,
                    chunk,
                    f"T{thread} {bit}-{bit + 3}",
                    f"row {row}, elements {chunk * 2 * kept}-{(chunk + 1) * 2 * kept - 1} of K, of "
                    f"which {kept} are stored: thread {thread}, bits {bit}-{bit + 3}",
                    group=thread % 8,
                )
            )
    return Picture(
        f"Metadata of {spelling}, selector {selector}",
        "The thread and the bits of its metadata register that name the places of each chunk.",
        (
            Grid(
                [str(row) for row in range(a.rows)],
                [f"{i * 2 * kept}-{(i + 1) * 2 * kept - 1}" for i in range(chunks)],
                cells,
                "",
                "m",
                "elements of K",
            ),
        ),
        facts={"spelling": spelling},
    )


def scales(
    *words: str, byte_a: int = 0, thread_a: int = 0, byte_b: int = 0, thread_b: int = 0
) -> Picture:
    """Draw which byte of which thread is the scale of each row of A and column of B.

    The words are those of an mma with `.block_scale`; bytes and threads are its selectors.
    """
    spelling, a = _operand(words, "a")
    if a is None or "scale" not in spelling:
        refuse_unknown("block scales of", spelling, (), ["a product with scales has .block_scale"])
    given = re.search(r"scale_vec::(\d)X", spelling)
    count = int(given[1]) if given else 2 if a.element_bits == 4 else 1
    for name, byte in (("byte_a", byte_a), ("byte_b", byte_b)):
        if byte % count or not 0 <= byte <= 4 - count:
            refuse_argument(name, f"a multiple of {count} up to {4 - count}", byte)
    if not 0 <= thread_a <= 1 or not 0 <= thread_b <= 3:
        refuse_argument("threads", "0 or 1 of A and 0 to 3 of B", (thread_a, thread_b))
    rows = _scale_cells(16, count, lambda i, k: core.scale_a(i, k, byte_a, thread_a), "row")
    columns = _scale_cells(8, count, lambda i, k: core.scale_b(i, k, byte_b, thread_b), "column")
    return Picture(
        f"Block scales of {spelling}",
        "The thread and the byte of its register that is each scale.",
        (
            Grid(
                [str(i) for i in range(16)],
                [str(i) for i in range(count)],
                list(rows),
                "Scales of A",
                "m",
                f"part of K, of {count}",
            ),
            Grid(
                [str(i) for i in range(8)],
                [str(i) for i in range(count)],
                list(columns),
                "Scales of B",
                "n",
                f"part of K, of {count}",
            ),
        ),
        facts={"spelling": spelling, "count": count},
    )


def _operand(words: tuple[str, ...], name: str) -> tuple[str, core.OperandFragment | None]:
    spelling = find_spelling(words_of(*words))
    found = [one for one in core.fragments(spelling) if one.operand == name]
    return spelling, found[0] if found else None


def _scale_cells(
    lines: int, count: int, place: Callable[[int, int], tuple[int, int]], what: str
) -> Iterator[Cell]:
    for line in range(lines):
        for part in range(count):
            thread, bit = place(line, part)
            text = f"T{thread} byte {bit // 8}"
            yield Cell(line, part, text, f"{what} {line}, part {part}: {text}", group=thread % 8)
