# SPDX-License-Identifier: Apache-2.0
"""Named groups of instructions.

A function that emits instructions needs no decorator. With `@intrinsic` its name shows: as a pair
of comments around what it emitted, and as a note of an error that was raised in it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar, overload

from pyptx import _core, ptx

P = ParamSpec("P")
R = TypeVar("R")


@overload
def intrinsic(fn: Callable[P, R]) -> Callable[P, R]: ...
@overload
def intrinsic(
    fn: None = None, *, name: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def intrinsic(
    fn: Callable[P, R] | None = None, *, name: str | None = None
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Name the instructions that a function emits, as a decorator with or without arguments.

    `name` is what text and errors call it; the function's own name by default.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        shown = function.__name__ if name is None else name

        @functools.wraps(function)
        def expand(*args: P.args, **kwargs: P.kwargs) -> R:
            ptx.comment(f"begin {shown}")
            caller = sys._getframe(1)
            trace = _core.active_trace()
            trace.enter_intrinsic(
                f"{shown}, called at {caller.f_code.co_filename}:{caller.f_lineno}"
            )
            try:
                result = function(*args, **kwargs)
            finally:
                trace.leave_intrinsic()
            ptx.comment(f"end {shown}")
            return result

        return expand

    return decorate if fn is None else decorate(fn)
