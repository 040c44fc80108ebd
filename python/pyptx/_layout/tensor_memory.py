# SPDX-License-Identifier: Apache-2.0
"""Tensor memory: where D of tcgen05.mma lies."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx._core import layout as core
from pyptx._layout.picture import Cell, Grid, Picture
from pyptx._layout.refusals import refuse_argument

_STEP = 16  # rows and columns of D that a box stands for


def accumulator(
    shape: Sequence[int], *, cta_group: int = 1, ws: bool = False, sparse: bool = False
) -> Picture:
    """Draw where D of tcgen05.mma lies in tensor memory: lanes and columns, of each CTA of a pair.

    `shape` is (M, N). A box is 16 rows of D by as many of its columns as lie together.
    """
    if len(shape) != 2:
        refuse_argument("shape", "(M, N)", tuple(shape))
    m, n = shape
    sizes = (128, 256) if cta_group == 2 else (32, 64, 128) if ws else (64, 128)
    if cta_group not in (1, 2):
        refuse_argument("cta_group", "1 or 2", cta_group)
    if m not in sizes:
        refuse_argument("M", " or ".join(map(str, sizes)), m)
    if not 8 <= n <= 256 or n % 8:
        refuse_argument("N", "a multiple of 8 up to 256", n)
    places = core.accumulator(m, n, cta_group, ws, sparse)
    ends = [column for column in range(n) if _is_end(places, n, column)]
    widths: list[tuple[int, int]] = []
    for end in ends:
        begin = widths[-1][1] if widths else 0
        widths.append((begin, end + 1))
    grids = []
    for cta in range(cta_group):
        grids.append(_lanes_of(places, (m, n), cta, cta_group, widths))
    return Picture(
        f"D of tcgen05.mma, {m} x {n}, .cta_group::{cta_group}{', .ws' if ws else ''}"
        f"{', .sp' if sparse else ''}",
        f"The lanes and columns of tensor memory that hold the rows and columns of a {m} x {n} D.",
        tuple(grids),
        facts={"places": places},
    )


def _is_end(places: Sequence[tuple[int, int, int]], n: int, column: int) -> bool:
    """Whether the next column of D lies elsewhere than one column further on."""
    if column == n - 1:
        return True
    cta, lane, at = places[column]
    return places[column + 1] != (cta, lane, at + 1)


def _lanes_of(
    places: Sequence[tuple[int, int, int]],
    shape: tuple[int, int],
    cta: int,
    ctas: int,
    runs: Sequence[tuple[int, int]],
) -> Grid:
    m, n = shape
    cells = []
    for row in range(0, m, _STEP):
        for begin, end in runs:
            where, lane, column = places[row * n + begin]
            if where != cta:
                continue
            cells.append(
                Cell(
                    lane // _STEP,
                    0,
                    f"rows {row}-{row + _STEP - 1}, columns {begin}-{end - 1}",
                    f"rows {row}-{row + _STEP - 1} and columns {begin}-{end - 1} of D: lanes "
                    f"{lane}-{lane + _STEP - 1}, columns {column}-{column + end - begin - 1}",
                    group=row // _STEP % 8,
                )
            )
    width = runs[0][1] - runs[0][0]
    return Grid(
        [f"{lane}-{lane + _STEP - 1}" for lane in range(0, 128, _STEP)],
        [f"0-{width - 1}"],
        cells,
        f"Tensor memory of CTA {cta} of the pair" if ctas == 2 else "Tensor memory",
        "lanes",
        "32-bit columns from the accumulator's address",
    )
