# SPDX-License-Identifier: Apache-2.0
"""What cannot be drawn, and what there is instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NoReturn

from pyptx import _core
from pyptx._errors import Error


def refuse_unknown(
    what: str, given: str, known: Iterable[str], notes: Sequence[str] = ()
) -> NoReturn:
    """Refuse a name that nothing has; say which are nearest and which there are."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(given, names, 2, 0.6)
    meant = [f"did you mean {' or '.join(near)}?"] if near else []
    there = [f"there are {', '.join(names)}"] if names else []
    _refuse("LayoutUnknown", [what, given], [*meant, *there, *notes])


def refuse_argument(name: str, allowed: str, got: object) -> NoReturn:
    """Refuse the value of an argument."""
    _refuse("LayoutArgument", [f"{name} must be {allowed}, not {got}"], [])


def refuse_value(name: str, error: ValueError) -> NoReturn:
    """Refuse with the words of the core."""
    _refuse("LayoutArgument", [f"{name}: {error}"], [])


def refuse_words(problem: str) -> NoReturn:
    """Refuse words that are no picture's."""
    _refuse("LayoutArgument", [problem], [])


def _refuse(kind: str, words: Sequence[str], notes: Sequence[str]) -> NoReturn:
    try:
        _core.refuse(kind, words, notes, None)
    except Error as error:
        raise error from None  # what it was found by says less
    raise AssertionError(kind)
