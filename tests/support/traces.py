# SPDX-License-Identifier: Apache-2.0
"""What a function emits, and the error that it raises."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyptx import Error, _core


@contextlib.contextmanager
def tracing(target: str = "sm_90a", **options: Any) -> Iterator[_core.Trace]:
    """A trace that is entered for the length of the block."""
    trace = _core.Trace("k", target, **options)
    trace.enter()
    try:
        yield trace
    finally:
        trace.leave()


def body(write: Callable[[], Any], **options: Any) -> list[str]:
    """The statements that `write` emits, without declarations and the final ret."""
    with tracing(**options) as trace:
        write()
        lines = [line.strip() for line in trace.finish().text.splitlines()]
    start = lines.index("{") + 1
    end = len(lines) - 1 - lines[::-1].index("}")
    kept = [line for line in lines[start:end] if not line.startswith(".reg")]
    return kept[:-1]


def trace(write: Callable[[], Any], target: str, **options: Any) -> None:
    """Trace and finish `write`."""
    with tracing(target, **options) as current:
        write()
        current.finish()


def refusal(write: Callable[[], Any], target: str = "sm_90a", **options: Any) -> Error:
    """Return the error that tracing `write` raises."""
    with pytest.raises(Error) as caught:
        trace(write, target, **options)
    return caught.value


def underlined(error: Error) -> str:
    """What the carets stand under."""
    lines = str(error).splitlines()
    at = next(i for i, line in enumerate(lines) if set(line.split("|")[-1].strip()) == {"^"})
    carets = lines[at]
    return lines[at - 1][carets.index("^") : carets.rindex("^") + 1]
