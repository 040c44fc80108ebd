# SPDX-License-Identifier: Apache-2.0
"""What is said of a failed check: the first failing case in full, the others in a line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyptx import _core
from pyptx._call.element_types import ptx_name
from pyptx._errors import CheckError
from pyptx._testing.cases import Case, shown
from pyptx._testing.values import PLAIN

MOST_LISTED = 8


@dataclass(frozen=True)
class Failure:
    """A case that fails: what is reported of it, where it ran, and how to run it alone."""

    case: Case
    where: str
    text: str
    diagnostics: list[Any]
    lines: list[str] = field(default_factory=list)
    call: str = ""

    def __str__(self) -> str:
        """Return the finding, with the case as its notes."""
        notes = [*self.lines, f"case: {self.case}, {self.where}", f"run it alone: {self.call}"]
        return "\n".join([self.text.rstrip("\n"), *(f"  note: {line}" for line in notes)])


def finding(code: str, words: Sequence[str]) -> tuple[str, list[Any]]:
    """Return a finding of ours as text and as diagnostics."""
    found = _core.finding(code, list(words))
    return str(found), [found]


def call_text(given: Sequence[str], case: Case, options: dict[str, Any]) -> str:
    """Return the call of `check` that runs one case alone; `given` are kernel and reference."""
    words = [*given]
    if case.inputs != PLAIN:
        words.append(shown(case.inputs))
    if case.types:
        types = ", ".join(f"{name!r}: {ptx_name(kind)}" for name, kind in case.types.items())
        words.append(f"dtypes={{{types}}}")
    if case.sizes:
        words.append(f"shapes={dict(case.sizes)!r}")
    words += [f"seeds={case.seed}", *(f"{name}={value!r}" for name, value in options.items())]
    return f"pyptx.testing.check({', '.join(words)})"


def error(failures: Sequence[Failure], run: int, total: int) -> CheckError:
    """Return the error of a check that has failed."""
    first, *others = failures
    text = str(first)
    if others:
        listed = [f"  {one.case}: {_headline(one)}" for one in others[:MOST_LISTED]]
        if len(others) > MOST_LISTED:
            listed.append(f"  and {len(others) - MOST_LISTED} more")
        text = "\n".join([text, "also fails:", *listed])
    text += f"\nfailing cases: {len(failures)} of {run}"
    text += f"; {total - run} were not run" if run < total else ""
    return CheckError(text, [found for one in failures for found in one.diagnostics])


def _headline(failure: Failure) -> str:
    return failure.text.split("\n", 1)[0]
