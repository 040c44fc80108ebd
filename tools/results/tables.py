# SPDX-License-Identifier: Apache-2.0
"""Rows of a record as tables of Markdown, and as lines of a plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyptx._bench.plot import Line, Point

Row = dict[str, Any]
OURS = "pyptx"
PEERS = ("cuBLAS", "copy", "torch", "torch.compile", "Triton")  # in the order of columns


def table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table; everything but the first column is to the right."""
    rule = "|---" + "|---:" * (len(heading) - 1) + "|"
    return "\n".join([_joined(heading), rule, *map(_joined, lines)])


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    """Return a whole number with commas."""
    return f"{value:,.0f}"


def microseconds(row: Row, arm: str = OURS) -> str:
    """Return the median with its spread."""
    found = row["arms"][arm]
    places = 2 if found["us"] < 100 else 1
    low, high = (f"{found[key]:.{places}f}" for key in ("us_10%", "us_90%"))
    return f"{found['us']:.{places}f} ({low} .. {high})"


def ratio(row: Row, arm: str) -> str:
    """Return how many times as fast ours is, with its spread; a dash where the arm is absent."""
    found = row["arms"].get(arm)
    if found is None:
        return "-"
    return f"**{found['ours']:.3f}** ({found['ours_10%']:.3f} .. {found['ours_90%']:.3f})"


def rate(row: Row, arm: str = OURS, of: str = "bytes", key: str = "us") -> float:
    """Return terabytes or teraflops of a second."""
    return float(row[of] / (row["arms"][arm][key] / 1e6) / 1e12)


def sensor(row: Row, key: str) -> str:
    """Return the clock or the power that was found beside ours."""
    found = row["arms"][OURS].get(key)
    return "-" if found is None else f"{found:.0f}"


def present(rows: Sequence[Row]) -> list[str]:
    """Return the peers that some row has."""
    return [peer for peer in PEERS if any(peer in row["arms"] for row in rows)]


def measured(rows: Sequence[Row], first: str, label: Callable[[Row], str]) -> str:
    """Return the table of some rows: ours, and how it compares with each peer."""
    peers = present(rows)
    has_flops = any(row["flops"] for row in rows)
    heading = [first, "us (10 .. 90 %)", *(["TFLOP/s"] if has_flops else []), "TB/s"]
    heading += [f"to {peer}" for peer in peers] + ["MHz", "W"]
    lines = []
    for row in rows:
        flops = f"{rate(row, of='flops'):.0f}" if row["flops"] else "-"
        lines.append(
            [
                label(row),
                microseconds(row),
                *([flops] if has_flops else []),
                f"{rate(row):.2f}",
                *(ratio(row, peer) for peer in peers),
                sensor(row, "MHz"),
                sensor(row, "W"),
            ]
        )
    return table(heading, lines)


def by_columns(rows: Sequence[Row], peer: str, label: Callable[[Row], str]) -> str:
    """Return the ratios to a peer, a line for each label and a column for each row length."""
    widths = sorted({row["shape"][1] for row in rows})
    found = {(label(row), row["shape"][1]): row["arms"][peer]["ours"] for row in rows}
    lines = [
        [name, *(f"{found[name, w]:.2f}" if (name, w) in found else "-" for w in widths)]
        for name in dict.fromkeys(map(label, rows))
    ]
    return table(["columns", *map(number, widths)], lines)


def summary(rows: Sequence[Row], peer: str) -> str:
    """Return the geometric mean of the ratios to a peer and the lowest of them."""
    ratios = {row["name"]: row["arms"][peer]["ours"] for row in rows if peer in row["arms"]}
    if not ratios:
        return f"No row has {peer}."
    mean = math.exp(sum(math.log(value) for value in ratios.values()) / len(ratios))
    name = min(ratios, key=lambda each: ratios[each])
    lowest = next(row for row in rows if row["name"] == name)
    return (
        f"Against {peer}, {len(ratios)} rows: {mean:.3f} in the geometric mean, {ratios[name]:.3f} "
        f"at least ({' x '.join(map(number, lowest['shape']))})."
    )


def speeds(rows: Sequence[Row]) -> list[Line]:
    """Return the bytes of a second of every arm, at the rows as ticks."""
    lines = []
    for arm in (OURS, *present(rows)):
        points = [
            Point(tick, rate(row, arm), rate(row, arm, key="us_90%"), rate(row, arm, key="us_10%"))
            for tick, row in enumerate(rows)
            if arm in row["arms"]
        ]
        lines.append(Line(arm, points))
    return lines


def ratios(rows: Sequence[Row], peers: Sequence[str]) -> list[Line]:
    """Return how many times as fast ours is as some peers, at the rows as ticks."""
    lines = []
    for peer in peers:
        points = [
            Point(tick, *(row["arms"][peer][key] for key in ("ours", "ours_10%", "ours_90%")))
            for tick, row in enumerate(rows)
            if peer in row["arms"]
        ]
        if points:
            lines.append(Line(peer, points))
    return lines
