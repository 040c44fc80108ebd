# SPDX-License-Identifier: Apache-2.0
"""How a tuning fails: as a whole, with a registered code, or in one of its trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from pyptx import _core
from pyptx._errors import TuneError


def fail(code: str, *arguments: object, notes: Sequence[str] = ()) -> NoReturn:
    """Raise the error with this code."""
    finding = _core.finding(code, [str(argument) for argument in arguments], list(notes))
    raise TuneError(str(finding).rstrip(), [finding])


def wrong_argument(what: str, expected: str, got: object) -> NoReturn:
    """Refuse an argument of tune."""
    fail("PTX0830", what, expected, got)


class TrialFailed(Exception):
    """One configuration cannot be used; the tuning goes on."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def first_line(error: BaseException) -> str:
    """Return what an error says, in a line; a rendered finding begins with its code."""
    return str(error).strip().partition("\n")[0].removeprefix("error") or type(error).__name__
