# SPDX-License-Identifier: Apache-2.0
"""A comparison as a picture: bars with their spread, in SVG, by hand."""

from __future__ import annotations

from collections.abc import Sequence
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
