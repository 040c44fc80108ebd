# SPDX-License-Identifier: Apache-2.0
"""Tracebacks without the frames of this package.

What an author has done wrong stands in lines of the author's: the frames between them say how the
package is built. They are taken out when an error leaves it, so that a traceback ends at the
author's line wherever it is shown: by Python, pytest or IPython. An error of the package itself
keeps them all, and `PYPTX_TRACEBACK=whole` leaves every traceback whole.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import CodeType, TracebackType
from typing import ParamSpec, TypeVar

from pyptx._errors import Error

P = ParamSpec("P")
R = TypeVar("R")

_FOLDER = str(Path(__file__).resolve().parent) + os.sep
# The package's own kernels are code of an author too.
_KERNELS = _FOLDER + "kernels" + os.sep


def is_ours(code: CodeType) -> bool:
    """Whether a function is the package's own, and no kernel."""
    name = code.co_filename
    return name.startswith(_FOLDER) and not name.startswith(_KERNELS)


def shorten(error: BaseException) -> None:
    """Take the package's frames out of an error's traceback, and of what caused it."""
    if os.environ.get("PYPTX_TRACEBACK") == "whole":
        return
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        if _is_authors(one):
            one.__traceback__ = _without_ours(one.__traceback__)
        one = one.__cause__ or one.__context__


def shortened(function: Callable[P, R]) -> Callable[P, R]:
    """Shorten what a function raises that the extension calls: its frames are all of ours."""

    @functools.wraps(function)
    def border(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise  # adds no frame, as raising it anew would

    return border


def _is_authors(error: BaseException) -> bool:
    """Whether it speaks of the author: it is one of ours, or was raised in a line of theirs."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return isinstance(error, Error) or last is None or not is_ours(last.tb_frame.f_code)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame.f_code):
            kept.append(traceback)
        traceback = traceback.tb_next
    shortened: TracebackType | None = None
    for one in reversed(kept):
        shortened = TracebackType(shortened, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return shortened
