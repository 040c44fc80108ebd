# SPDX-License-Identifier: Apache-2.0
"""Measurements as pictures: bars and lines with their spread, in SVG, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

ROW, LEFT, WIDTH, RIGHT, TOP = 28, 190, 420, 190, 44
COLOURS = ("#4878a8", "#9aa5b1")  # the baseline, the others


class Bar(NamedTuple):
    """A median with its 10th and 90th percentile, and what to write beside it."""

    name: str
    median: float
    low: float
    high: float
    label: str


def draw(title: str, bars: Sequence[Bar]) -> str:
    """Return the bars as the text of an SVG file; the first is the baseline."""
    longest = max((bar.high for bar in bars), default=0.0) or 1.0
    height = TOP + ROW * len(bars) + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        f'font-family="sans-serif" font-size="13">',
        f'<text x="12" y="24" font-size="15">{escape(title)}</text>',
    ]
    for index, bar in enumerate(bars):
        y = TOP + ROW * index
        middle = y + ROW / 2 - 2
        start, end = (LEFT + WIDTH * value / longest for value in (bar.low, bar.high))
        lines += [
            f'<text x="{LEFT - 8}" y="{middle + 4:.1f}" text-anchor="end">'
            f"{escape(bar.name)}</text>",
            f'<rect x="{LEFT}" y="{y + 2}" width="{WIDTH * bar.median / longest:.1f}" '
            f'height="{ROW - 8}" fill="{COLOURS[min(index, 1)]}"/>',
            f'<line x1="{start:.1f}" x2="{end:.1f}" y1="{middle:.1f}" y2="{middle:.1f}" '
            f'stroke="#222" stroke-width="2"/>',
            f'<text x="{LEFT + WIDTH + 10}" y="{middle + 4:.1f}">{escape(bar.label)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


TALL, MARGIN, STEP = 220, 58, 150  # of a plot of lines: its height, its left side, its legend
STEPS = (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)  # where an axis may end
LINES = {  # colour and dashes of an arm, the same in every plot
    "pyptx": ("#1f5fa8", ""),
    "cuBLAS": ("#3d7d3a", ""),
    "torch": ("#c77f1b", ""),
    "torch.compile": ("#a8423f", ""),
    "Triton": ("#7a549c", ""),
    "copy": ("#777777", "5 3"),
}


class Point(NamedTuple):
    """A median at a tick, with its 10th and 90th percentile."""

    tick: int
    median: float
    low: float
    high: float


class Line(NamedTuple):
    """Points of one arm, in the order of the ticks; some may be missing."""

    name: str
    points: Sequence[Point]


def draw_lines(
    title: str, unit: str, ticks: Sequence[str], lines: Sequence[Line], mark: float | None = None
) -> str:
    """Return the lines as the text of an SVG file, from zero up; `mark` is a line across."""
    top = _round_up(max((point.high for line in lines for point in line.points), default=1.0))
    slanted = any(len(tick) > 7 for tick in ticks)
    wide = max(320, len(ticks) * (26 if slanted else 62))
    foot = 140 if slanted else 30
    bottom = TOP + 14 + TALL

    def across(tick: float) -> float:
        return MARGIN + wide * (tick + 0.5) / max(len(ticks), 1)

    def up(value: float) -> float:
        return bottom - TALL * value / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{MARGIN + wide + STEP}" '
        f'height="{bottom + foot}" font-family="sans-serif" font-size="12">',
        f'<text x="12" y="24" font-size="15">{escape(title)}</text>',
        f'<text x="12" y="{TOP}" fill="#555">{escape(unit)}</text>',
    ]
    for step in range(5):
        value = top * step / 4
        parts += [
            f'<line x1="{MARGIN}" x2="{MARGIN + wide}" y1="{up(value):.1f}" y2="{up(value):.1f}" '
            f'stroke="#ddd"/>',
            f'<text x="{MARGIN - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:g}</text>',
        ]
    if mark is not None:
        parts.append(
            f'<line x1="{MARGIN}" x2="{MARGIN + wide}" y1="{up(mark):.1f}" y2="{up(mark):.1f}" '
            f'stroke="#555" stroke-dasharray="2 3"/>'
        )
    for index, tick in enumerate(ticks):
        x, y = across(index), bottom + 16
        turn = f' transform="rotate(-60 {x:.1f} {y})" text-anchor="end"'
        place = turn if slanted else ' text-anchor="middle"'
        parts.append(f'<text x="{x:.1f}" y="{y}"{place}>{escape(tick)}</text>')
    for index, line in enumerate(lines):
        parts += _line(line, across, up)
        y = TOP + 22 + 18 * index
        parts += [
            f'<line x1="{MARGIN + wide + 12}" x2="{MARGIN + wide + 34}" y1="{y}" y2="{y}" '
            f"{_stroke(line.name)}/>",
            f'<text x="{MARGIN + wide + 40}" y="{y + 4}">{escape(line.name)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(line: Line, across: Callable[[float], float], up: Callable[[float], float]) -> list[str]:
    """Return a line through the medians, and its spread at each."""
    colour = LINES.get(line.name, COLOURS)[0]
    path = " ".join(f"{across(point.tick):.1f},{up(point.median):.1f}" for point in line.points)
    parts = [f'<polyline points="{path}" fill="none" {_stroke(line.name)}/>']
    for point in line.points:
        x = across(point.tick)
        parts += [
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{up(point.low):.1f}" y2="{up(point.high):.1f}" '
            f'stroke="{colour}"/>',
            f'<circle cx="{x:.1f}" cy="{up(point.median):.1f}" r="2.5" fill="{colour}"/>',
        ]
    return parts


def _stroke(name: str) -> str:
    colour, dashes = LINES.get(name, (COLOURS[0], ""))
    return f'stroke="{colour}" stroke-width="2"' + (
        f' stroke-dasharray="{dashes}"' if dashes else ""
    )


def _round_up(value: float) -> float:
    """Return a number that ends an axis well, no smaller than the value."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(
        power * step for step in (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10) if power * step >= value
    )
