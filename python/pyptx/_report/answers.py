# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's tools said about a specialisation, kept for the next time they are asked.

A disassembler takes half a second to start, so `Kernel.sass` and `Kernel.report` ask it once per
specialisation and state of the tools (`_toolchain.in_use`). Errors are not kept: what was missing
may be installed. An answer goes when its specialisation does, or when others need the room.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pyptx import _core, _progress, _toolchain
from pyptx._errors import Error
from pyptx._report import costs

if TYPE_CHECKING:
    from pyptx._call.specialize import Traced

_T = TypeVar("_T")

#: Specialisations whose answers are kept, and what those take together, in characters of text. The
#: latest is kept whatever it takes.
MOST_KEPT = 256
MOST_CHARACTERS = 32 << 20
#: What a row of a report takes, about.
_ROW = 200


class _Answer(NamedTuple):
    tools: Any
    value: Any
    size: int


class Answers:
    """The answers used latest. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: weakref.WeakKeyDictionary[Traced, dict[str, _Answer]]
        self._kept = weakref.WeakKeyDictionary()

    def get(
        self, traced: Traced, question: str, ask: Callable[[], _T], size: Callable[[_T], int]
    ) -> _T:
        """Return the answer that these tools gave before, or ask."""
        tools = _toolchain.in_use()
        with self._lock:
            rows = self._kept.pop(traced, {})
            if rows:
                self._kept[traced] = rows  # as the latest
            kept = rows.get(question)
        if kept is not None and kept.tools == tools:
            value: _T = kept.value
            return value
        value = ask()
        if _toolchain.in_use() == tools:  # else nobody knows which of them answered
            self._keep(traced, question, _Answer(tools, value, size(value)))
        return value

    def _keep(self, traced: Traced, question: str, answer: _Answer) -> None:
        with self._lock:
            self._kept[traced] = {**self._kept.pop(traced, {}), question: answer}
            sizes = {one: sum(a.size for a in rows.values()) for one, rows in self._kept.items()}
            total, count = sum(sizes.values()), len(sizes)
            for one, taken in sizes.items():
                if one is traced or (total <= MOST_CHARACTERS and count <= MOST_KEPT):
                    return
                del self._kept[one]
                total, count = total - taken, count - 1


_answers = Answers()


def sass(traced: Traced, image: Callable[[], _core.KernelImage], *, raw: bool = True) -> str:
    """Return the machine code as text, with encodings or as a listing of instructions alone."""

    def ask() -> str:
        try:
            with _progress.shown("assembling"):
                cubin = image().cubin()
        except Error:
            # Looked for only now: finding an assembler opens it, and a cubin on disk needs none.
            missing = _toolchain.missing_assembler()
            if missing is None:
                raise
            raise RuntimeError(missing) from None
        return _toolchain.disassemble(cubin) if raw else listing_of(cubin)

    return _answers.get(traced, "sass" if raw else "listing", ask, len)


def listing_of(cubin: bytes) -> str:
    """Return the instructions of a cubin without their encodings."""
    from pyptx._view import listing  # its patterns would be compiled for every import of pyptx

    text = _toolchain.run_nvdisasm(cubin, "-c")
    if text is None:
        raise RuntimeError(_toolchain.missing_disassembler())
    return listing.read(text).text()


def report(
    kernel: str,
    traced: Traced,
    image: Callable[[], _core.KernelImage],
    *,
    threads: int,
    dynamic_shared: int,
) -> costs.Report:
    """Return what the kernel costs, as a report of the caller's own."""

    def ask() -> costs.Report:
        return costs.make_report(
            kernel, traced, image(), threads=threads, dynamic_shared=dynamic_shared
        )

    kept = _answers.get(
        traced, "report", ask, lambda made: _ROW * (len(made.lines) + len(made.instructions) + 1)
    )
    return replace(kept, instructions=dict(kept.instructions), lines=list(kept.lines))
