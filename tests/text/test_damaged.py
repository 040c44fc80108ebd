# SPDX-License-Identifier: Apache-2.0
"""Damaged files of PTX: each gives a module that prints the bytes, and `verify` names the place.

`PYPTX_DAMAGED` says how many (`make damaged`); the files that `make corpus` compiled are among
them where they are there.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyptx
from pyptx.parser import Instruction
from support.tree import ROOT, TESTS

COUNT = int(os.environ.get("PYPTX_DAMAGED", "150"))


@dataclass(frozen=True)
class Source:
    """A file, and the bytes and line at which each of its instructions begins and ends."""

    text: bytes
    instructions: tuple[tuple[int, int, int], ...]


@cache
def sources() -> list[Path]:
    """Every file there is, the small ones of the repository first."""
    kept = [*(TESTS / "files" / "triton").glob("*.ptx"), TESTS / "files" / "planted.ptx"]
    corpus = (ROOT / "build" / "corpus").glob("*.ptx") if COUNT > 1000 else ()
    return [*sorted(kept), *sorted(corpus)]


@cache
def source(path: Path) -> Source:
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places = []
    for function in pyptx.parse(text).functions:
        for one in function.instructions:
            where = one.location
            begin = starts[where.line - 1] + where.column - 1
            places.append((begin, begin + len(one.text.encode()), where.line))
    return Source(text, tuple(places))


def instruction(chosen: random.Random, of: Source) -> tuple[int, int, int]:
    return chosen.choice(of.instructions)


# Damage at a known line: the text, and the code that verify has to give there.
Known = tuple[bytes, int, set[str]]


def unknown_opcode(chosen: random.Random, of: Source) -> Known:
    begin, end, line = instruction(chosen, of)
    return of.text[:begin] + b"xyzzy.u32 1;" + of.text[end:], line, {"PTX0201"}


def undeclared_name(chosen: random.Random, of: Source) -> Known:
    begin, end, line = instruction(chosen, of)
    return of.text[:begin] + b"mov.b32 %nothing, 1;" + of.text[end:], line, {"PTX0103"}


def stray_byte(chosen: random.Random, of: Source) -> Known:
    begin, _, line = instruction(chosen, of)
    byte = bytes([chosen.choice([0, 1, 11, 127, 128, 255])])
    return of.text[:begin] + byte + of.text[begin:], line, {"PTX0001"}


def broken_statement(chosen: random.Random, of: Source) -> Known:
    begin, end, line = instruction(chosen, of)
    junk = chosen.choice([b"mov.b32 %r1 1;", b"] ;", b"add.u32 , ;", b"@ ;", b"= 5;"])
    return of.text[:begin] + junk + of.text[end:], line, {"PTX0101"}


def unknown_directive(chosen: random.Random, of: Source) -> Known:
    begin, _, line = instruction(chosen, of)
    return of.text[:begin] + b".xyzzy 1; " + of.text[begin:], line, {"PTX0102"}


def old_target(chosen: random.Random, of: Source) -> Known:
    at = of.text.index(b".target") + len(b".target ")
    end = at + min(of.text[at:].index(b) for b in (b"\n", b",") if b in of.text[at:])
    target = chosen.choice([b"sm_50", b"sm_61", b"sm_70", b"sm_72"])
    line = of.text[:at].count(b"\n") + 1
    return of.text[:at] + target + of.text[end:], line, {"PTX0301"}


# Damage of any kind: only the text.
def flipped(chosen: random.Random, of: Source) -> bytes:
    text = bytearray(of.text)
    for _ in range(chosen.randint(1, 20)):
        text[chosen.randrange(len(text))] = chosen.randrange(256)
    return bytes(text)


def cut(chosen: random.Random, of: Source) -> bytes:
    return of.text[: chosen.randrange(len(of.text))]


def shuffled(chosen: random.Random, of: Source) -> bytes:
    a, b, c = sorted(chosen.randrange(len(of.text)) for _ in range(3))
    return of.text[:a] + of.text[b:c] + of.text[a:b] + of.text[c:]


def less(chosen: random.Random, of: Source) -> bytes:
    at = chosen.randrange(len(of.text))
    return of.text[:at] + of.text[at + chosen.randint(1, 200) :]


def punctuated(chosen: random.Random, of: Source) -> bytes:
    text = of.text
    for _ in range(chosen.randint(1, 5)):
        at = chosen.randrange(len(text))
        text = text[:at] + chosen.choice([b"{", b"}", b";", b'"', b"/*", b"(", b","]) + text[at:]
    return text


KNOWN: list[Callable[[random.Random, Source], Known]] = [
    unknown_opcode, undeclared_name, stray_byte, broken_statement, unknown_directive, old_target
]  # fmt: skip
ANY: list[Callable[[random.Random, Source], bytes]] = [flipped, cut, shuffled, less, punctuated]


def damaged() -> Iterator[tuple[str, bytes, int, set[str]]]:
    """Name, text, and the line and codes of a known damage."""
    paths = sources()
    for number in range(COUNT):
        chosen = random.Random(number)
        path = paths[number % len(paths)]
        kind = number % (len(KNOWN) + len(ANY))
        name = f"{path.name} {number}"
        if kind < len(KNOWN):
            text, line, codes = KNOWN[kind](chosen, source(path))
            yield f"{name} {KNOWN[kind].__name__}", text, line, codes
        else:
            made = ANY[kind - len(KNOWN)]
            yield f"{name} {made.__name__}", made(chosen, source(path)), 0, set()


def test_every_damaged_file_gives_a_module_and_a_place() -> None:
    broken = 0
    for name, text, line, codes in damaged():
        module = pyptx.parse(text, name, recover=True)
        assert bytes(module) == text, name
        found = pyptx.verify(module)
        assert all(one.file == name for one in found), name
        lines = text.count(b"\n") + text.count(b"\r") + 1
        assert all(one.line and one.line <= lines and one.column for one in found), name
        if module.diagnostics:
            broken += 1
            assert any(one.severity == "error" for one in found), name
        if codes:
            assert any(one.code in codes and one.line == line for one in found), (
                name, line, codes, [str(one) for one in found[:3]]
            )  # fmt: skip
    assert broken > COUNT / 4


def test_every_part_of_a_damaged_file_can_be_walked() -> None:
    for name, text, _, _ in list(damaged())[:60]:
        module = pyptx.parse(text, name, recover=True)
        assert repr(module)
        for part in module.parts:
            assert part.text in module.text, name
            assert part.location.file == name
        for function in module.functions:
            for part in function.body:
                assert repr(part)
                if isinstance(part, Instruction):
                    assert part.opcode in part.text, name


def test_files_are_there() -> None:
    assert len(sources()) >= 5
    assert all(source(path).instructions for path in sources())
