# SPDX-License-Identifier: Apache-2.0
"""How right a result is: each element against the reference in float64, by the type of the output.

An element of a float type may be off by `tolerance * max(|expected|, scale)`, where `scale` is the
mean magnitude of its row (the last dimension), or of the output where rows are shorter than
`SHORT`: sums are as exact as their neighbours, and a row of small numbers is not forgiven for a
large one elsewhere. Integers have to be equal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pyptx._testing.values import is_float, limits

#: What an element may be off, by the type of the output. Of types of 16 bits and fewer it is two
#: units in the last place; of f32 and f64 it has room for sums and approximations too.
TOLERANCE = {
    "float64": 2.0**-40,
    "float32": 2.0**-16,
    "float16": 2.0**-9,
    "bfloat16": 2.0**-6,
    "float8_e4m3fn": 2.0**-2,
    "float8_e5m2": 2.0**-1,
    "float8_e8m0fnu": 1.0,
}
MOST_SHOWN = 4
SHORT = 16


class Wrong(NamedTuple):
    """What is wrong with an output."""

    headline: str
    lines: list[str]


def compare(got: Any, expected: Any, tolerance: float | None) -> Wrong | None:
    """Return what is wrong with an output; None where it is right.

    Masked elements of `expected` are not looked at.
    """
    unseen = np.ma.getmaskarray(expected) if np.ma.isMaskedArray(expected) else None
    expected = np.ma.getdata(expected)
    if is_float(got.dtype):
        return _compare_floats(got, expected, unseen, tolerance)
    wrong = np.asarray(got != expected)
    if unseen is not None:
        wrong = wrong & ~unseen
    if not wrong.any():
        return None
    return Wrong(_count(wrong), _listed(wrong, got, expected))


def _compare_floats(got: Any, expected: Any, unseen: Any, tolerance: float | None) -> Wrong | None:
    allowed = TOLERANCE[got.dtype.name] if tolerance is None else tolerance
    largest, _, least = limits(got.dtype)
    with np.errstate(all="ignore"):
        expected = expected.astype(np.float64)
        rounded = expected.astype(got.dtype).astype(np.float64)  # infinite where it has to be
        found = got.astype(np.float64)
        scale = np.maximum(_scale(rounded), least / allowed)  # what rounding makes of the smallest
        error = np.abs(found - expected) / np.maximum(np.abs(expected), scale)
        error = np.where(found == expected, 0.0, error)
        # Numbers that are about to overflow may, and those that do may just not.
        is_edge = np.abs(np.abs(expected) / largest - 1) <= allowed
        is_edge &= (np.abs(found) >= largest * (1 - allowed)) & (found * expected > 0)
        is_special = ~np.isfinite(rounded) & ~is_edge
        is_same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        wrong = np.where(is_special, ~is_same, ~is_edge & ~(error <= allowed))
    if unseen is not None:
        wrong &= ~unseen
    if not wrong.any():
        return None
    lines = _listed(wrong, got, expected)
    measured = np.where(wrong & np.isfinite(error), error, -1.0)
    if measured.max() >= 0:
        at = np.unravel_index(int(measured.argmax()), wrong.shape)
        lines.append(f"worst: {_index(at)}, off by {measured[at]:.2g}, where {allowed:.2g} is")
        lines[-1] += " allowed (of its magnitude, or of its row's mean)"
    return Wrong(_count(wrong), lines)


def _scale(expected: Any) -> Any:
    """Return the mean magnitude of the finite elements of each row, or of all."""
    finite = np.where(np.isfinite(expected), np.abs(expected), np.nan)
    axis = -1 if finite.ndim and finite.shape[-1] >= SHORT else None
    known = np.isfinite(finite)
    count = np.maximum(known.sum(axis, keepdims=True), 1)
    return np.where(known, finite / count, 0.0).sum(axis, keepdims=True)


def _count(wrong: Any) -> str:
    elements = "element" if wrong.size == 1 else "elements"
    return f"wrong in {int(wrong.sum())} of {wrong.size} {elements}"


def _listed(wrong: Any, got: Any, expected: Any) -> list[str]:
    places = np.argwhere(wrong)
    rows = [tuple(int(part) for part in place) for place in places[:MOST_SHOWN]]
    lines = [f"{_index(at)}: expected {_shown(expected[at])}, got {_shown(got[at])}" for at in rows]
    if len(places) > MOST_SHOWN:
        lines[-1] += f"; and {len(places) - MOST_SHOWN} more, the last at "
        lines[-1] += _index(tuple(int(part) for part in places[-1]))
    return lines


def _index(at: Any) -> str:
    return f"[{', '.join(str(int(part)) for part in at)}]"


def _shown(value: Any) -> str:
    if np.asarray(value).dtype.kind in "biu":
        return str(value)
    return f"{float(value):.9g}"
