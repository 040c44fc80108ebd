# SPDX-License-Identifier: Apache-2.0
"""The source as rows: every file that a kernel's lines came from, one below the other.

A short file is shown whole, of a long one what is around the lines that are used. What cannot be
read is said so, and its lines stand there without their text.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyptx._view.subject import Place, Subject

#: A file of so many lines is shown whole.
_WHOLE = 1500
#: Of a longer one, so many lines around each that is used.
_AROUND = 40


@dataclass(slots=True)
class SourceRow:
    """A line of a file; without a number a heading or a gap."""

    text: str
    line: int = 0
    file: str = ""


@dataclass(slots=True)
class Sources:
    """All rows, and where a place is among them."""

    rows: list[SourceRow]
    index: dict[Place, int]
    missing: list[str]  # files that cannot be read


def gather(subject: Subject, more: Iterable[Place] = ()) -> Sources:
    """Read the files of all places of a subject, and of `more`."""
    used: dict[str, set[int]] = {}
    innermost_last: dict[str, int] = {}
    for chain in subject.chains.values():
        for depth, (file, line) in enumerate(reversed(chain)):
            used.setdefault(file, set()).add(line)
            innermost_last[file] = min(depth, innermost_last.get(file, depth))
    for file, line in more:
        if file in used:
            used[file].add(line)
    sources = Sources([], {}, [])
    # The kernel's own file first: it is at the outer end of every chain.
    for file in sorted(used, key=lambda name: (innermost_last.get(name, 0), name)):
        _add_file(sources, subject, file, sorted(used[file]))
    return sources


def _add_file(sources: Sources, subject: Subject, file: str, used: list[int]) -> None:
    lines = _lines_of(subject, file)
    sources.rows.append(SourceRow(file))
    if lines is None:
        sources.missing.append(file)
        shown = used
    elif len(lines) <= _WHOLE:
        shown = list(range(1, len(lines) + 1))
    else:
        around = {n for line in used for n in range(line - _AROUND, line + _AROUND + 1)}
        shown = sorted(n for n in around if 1 <= n <= len(lines))
    last = 0
    for number in shown:
        if last and number != last + 1:
            sources.rows.append(SourceRow("⋯"))
        last = number
        text = lines[number - 1] if lines is not None and number <= len(lines) else ""
        sources.index[file, number] = len(sources.rows)
        sources.rows.append(SourceRow(text, number, file))


def _lines_of(subject: Subject, file: str) -> list[str] | None:
    """Return a file's lines: from where the interpreter has them, or from the disk."""
    linecache.checkcache(file)
    if found := linecache.getlines(file):
        return [line.rstrip("\n") for line in found]
    # A compiler names a file from where it ran, which is often a folder of its own in the tree.
    names = [Path(file)]
    if names[0].parts[:1] == ("..",):
        names.append(Path(*(part for part in names[0].parts if part != "..")))
    for path in (folder / name for name in names for folder in (Path(), *subject.folders)):
        if path.is_file():
            try:
                return path.read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
    return None
