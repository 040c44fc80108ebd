# SPDX-License-Identifier: Apache-2.0
"""What cannot be drawn, and what there is instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NoReturn

from pyptx._call.refusals import refuse


def refuse_unknown(
    what: str, given: str, known: Iterable[str], notes: Sequence[str] = ()
) -> NoReturn:
    """Refuse a name that nothing has; say which are nearest and which there are."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(given, names, 2, 0.6)
    meant = [f"did you mean {' or '.join(near)}?"] if near else []
    there = [f"there are {', '.join(names)}"] if names else []
    refuse("LayoutUnknown", what, given, notes=[*meant, *there, *notes])


def refuse_argument(name: str, allowed: str, got: object) -> NoReturn:
    """Refuse the value of an argument."""
    refuse("LayoutArgument", f"{name} must be {allowed}, not {got}")


def refuse_value(name: str, error: ValueError) -> NoReturn:
    """Refuse with the words of the core."""
    refuse("LayoutArgument", f"{name}: {error}")


def refuse_words(problem: str) -> NoReturn:
    """Refuse words that are no picture's."""
    refuse("LayoutArgument", problem)
