# SPDX-License-Identifier: Apache-2.0
"""What is shown: PTX of any origin, and for each of its lines the source lines that it came from.

A line has a chain of them, the innermost first: what a helper wrote belongs to the helper's line,
to the line that called the helper, and so on up to the kernel's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyptx
from pyptx import _core
from pyptx._errors import Error

if TYPE_CHECKING:
    from pyptx._call.specialize import Facts
    from pyptx.kernel import Kernel

#: File and line.
Place = tuple[str, int]

_CALLED_FROM = re.compile(r"called from (?P<file>.*):(?P<line>\d+)")
_LOC = re.compile(
    r"\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+\d+"
    r"(?:.*inlined_at\s+(?P<at_file>\d+)\s+(?P<at_line>\d+)\s+\d+)?"
)
_FILE = re.compile(r'\.file\s+(?P<number>\d+)\s+"(?P<name>(?:[^"\\]|\\.)*)"')
#: An mbarrier as the emulator names it: "0x20408 (dyn_smem+131080)".
_DYNAMIC = re.compile(r"\(\w+(?:\+(?P<offset>\d+))?\)$")
_TARGET = re.compile(r"^\s*\.target\s+([\w]+)", re.MULTILINE)


@dataclass(slots=True)
class Subject:
    """PTX, and where its lines came from."""

    title: str
    text: str
    target: str
    #: By line of the text, from 1: the places, the innermost first.
    chains: dict[int, tuple[Place, ...]] = field(default_factory=dict)
    #: By line of the text: the package's helpers that wrote it, the innermost first.
    helpers: dict[int, tuple[str, ...]] = field(default_factory=dict)
    #: Folders in which files of relative names are.
    folders: tuple[Path, ...] = ()
    threads: int | None = None
    dynamic_shared: int = 0
    #: Name, place and bytes of what lies in the dynamic array of shared memory.
    shared_blocks: tuple[tuple[str, int, int], ...] = ()
    #: What findings about the PTX itself name as its file.
    file: str = "<ptx>"
    module: Any = None  # of the text, as far as it can be read
    problems: list[Any] = field(default_factory=list)  # diagnostics of the text

    def __post_init__(self) -> None:
        if self.module is None:
            self.module = pyptx.parse(self.text, self.file, recover=True)

    def instruction_lines(self) -> list[int]:
        """Return the line of each instruction of the kernel, in the order of the text."""
        entries = self.module.entries
        if len(entries) != 1:
            return []
        return [one.location.line for one in entries[0].instructions]


def of_kernel(kernel: Kernel, facts: Facts) -> Subject:
    """Trace a kernel, once more than it needs: to know who called its helpers."""
    followed = kernel.specializer.run_followed(facts)
    subject = Subject(
        title=kernel.signature.name,
        text=followed.text,
        target=facts.target,
        threads=_product(kernel.specializer.options.block),
        dynamic_shared=max(followed.dynamic_shared, kernel.specializer.options.smem),
        shared_blocks=followed.shared_blocks,
    )
    for ptx_line, file, line, _, expansions in followed.module.source_lines():
        callers = [found for one in expansions if (found := _CALLED_FROM.fullmatch(one))]
        places = [(file, line), *((one["file"], int(one["line"])) for one in callers)]
        subject.chains[ptx_line] = tuple(dict.fromkeys(places))
        helpers = tuple(one for one in expansions if not _CALLED_FROM.fullmatch(one))
        if helpers:
            subject.helpers[ptx_line] = helpers
    return subject


def of_text(
    text: str, file: str, target: str | None = None, folders: Sequence[Path] = ()
) -> Subject:
    """Read the source lines that `.loc` names; their files may be in `folders`, too."""
    named = _TARGET.search(text)
    path = Path(file)
    subject = Subject(
        title=path.name,
        text=text,
        target=target or (named[1] if named else ""),
        folders=(path.parent, *folders),
        file=file,
    )
    subject.problems = pyptx.verify(text, file=file)
    if len(subject.module.entries) == 1:
        subject.title = subject.module.entries[0].name
    subject.threads = _declared_threads(subject.module)
    _read_lines(subject)
    return subject


def _read_lines(subject: Subject) -> None:
    lines = subject.text.splitlines()
    files = {
        int(found["number"]): found["name"]
        for line in lines
        if (found := _FILE.match(line.strip()))
    }
    chain: tuple[Place, ...] = ()
    known: dict[Place, tuple[Place, ...]] = {}  # the chain of the last code there
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if found := _LOC.match(stripped):
            place = (files.get(int(found["file"]), ""), int(found["line"]))
            chain = (place,) if place[0] and place[1] else ()
            if chain and found["at_file"]:
                at = (files.get(int(found["at_file"]), ""), int(found["at_line"]))
                chain = tuple(dict.fromkeys((*chain, *known.get(at, (at,)))))
            if chain:
                known[place] = chain
        elif stripped.startswith(("}", ".func", ".visible", ".entry", ".weak")):
            chain, known = (), {}
        elif chain and stripped and not stripped.startswith(("//", ".", "{")):
            subject.chains[number] = chain


def _declared_threads(module: Any) -> int | None:
    if len(module.entries) != 1:
        return None
    for name, values in module.entries[0].directives:
        if name in ("reqntid", "maxntid", ".reqntid", ".maxntid"):
            return _product(tuple(int(value) for value in values))
    return None


def _product(numbers: tuple[int, ...]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


def shared_name(subject: Subject, described: str) -> str:
    """Return how the author calls a place that the emulator describes by its address."""
    found = _DYNAMIC.search(described)
    if found is None:
        return described
    at = int(found["offset"] or 0)
    for name, first, size in subject.shared_blocks:
        if first <= at < first + size:
            return f"{name}[{(at - first) // 8}]" if size > 8 else name
    return described


def instruction_spellings(subject: Subject) -> dict[int, str]:
    """Return the spelling of the instruction on each line: `ld.global.f32`."""
    found: dict[int, str] = {}
    for function in subject.module.functions:
        for one in function.instructions:
            found[one.location.line] = ".".join((one.opcode, *one.modifiers))
    return found


def pictures(spellings: Iterable[str]) -> dict[str, str]:
    """Return a drawing of which lane holds what, as SVG, of each that has fragments."""
    from pyptx import layout

    opcodes = tuple(_core.layout.opcodes())
    found: dict[str, str] = {}
    for spelling in spellings:
        if spelling.startswith(opcodes):
            try:
                found[spelling] = layout.fragment(spelling).svg()
            except Error:
                continue  # a form of it that has none
    return found


def explanations(spellings: list[str]) -> dict[str, str]:
    """Return what the instruction table knows of each, as `pyptx isa` tells it."""
    known: dict[str, str] = {}
    for spelling in spellings:
        status, text, _ = _core.command_text(["isa", spelling])
        if status == 0:
            known[spelling] = text.strip()
    return known
