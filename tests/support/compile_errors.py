# SPDX-License-Identifier: Apache-2.0
"""What compilers say of tests/install/misuses.cpp: by the line that is wrong."""

from __future__ import annotations

import re
from pathlib import Path

_MESSAGE = re.compile(r"(\S+?):(\d+):\d+: +(required from here|(?:error|note): .*)")
_REQUESTED = re.compile(r"note: in instantiation of .* requested here")


def gcc_errors(stderr: str, source: Path) -> dict[int, str]:
    """What g++ says first of each line of a file that it read."""
    found: dict[int, str] = {}
    line = 0
    for message in stderr.replace("\u2018", "'").replace("\u2019", "'").splitlines():
        place = _MESSAGE.match(message)
        if place is None or place[3].startswith("note"):
            continue
        if source.name in place[1]:
            line = int(place[2])
        if place[3].startswith("error"):  # in a header: of the line that it is required from
            found.setdefault(line, place[3])
    return found


def clang_errors(stderr: str, source: Path) -> dict[int, list[str]]:
    """The first error of each line with the notes behind it, three lines at most; numbers that the
    instruction table gives are left out.
    """
    found: dict[int, list[str]] = {}
    pending: list[str] = []  # of a header, until it is said which line asked for it
    current: list[str] | None = None
    for message in stderr.splitlines():
        place = _MESSAGE.match(message)
        if place is None:
            continue
        words = re.sub(r"(\w)_\d+<", r"\1<", re.sub(r"\d+Ui16", "N", place[3]))
        words = re.sub(r" at \S+:\d+:\d+", "", words)
        is_here = source.name in place[1]
        if words.startswith("error"):
            current = [words]
            if is_here:
                current = found.setdefault(int(place[2]), current) or current
                if current[0] != words:
                    current = None  # a second error of that line
            else:
                pending = current
        elif is_here and pending and _REQUESTED.match(place[3]):
            found.setdefault(int(place[2]), pending)
            pending = []
        elif current is not None and len(current) < 3:
            current.append(words)
    return found
