# SPDX-License-Identifier: Apache-2.0
"""Syntax lines, as the manual prints them: ``ld{.weak}{.ss}.type d, [a]{, cache-policy}``.

Operands may be trees: ``[tensorMap, tensorCoords]``, ``[leId, off{, cnt}]``, ``d|p``, ``d{|p}``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .notation import NAME, NotationError


@dataclass(frozen=True)
class SlotUse:
    """A place for a modifier in a syntax line."""

    name: str
    optional: bool
    default: str = ""  # the values it takes when the row lists none


@dataclass(frozen=True)
class OperandUse:
    """An operand of a syntax line.

    `shape` is "" for ``a``, "address" for ``[a, b]``, whose parts are a and b, and "pair" for
    ``d|p``, whose parts are d and p. `unified`: ``[a]{.unified}``.
    """

    name: str
    optional: bool
    shape: str = ""
    parts: tuple[OperandUse, ...] = ()
    unified: bool = False


@dataclass(frozen=True)
class Syntax:
    """A syntax line taken apart."""

    opcode: str
    slots: tuple[SlotUse, ...]
    operands: tuple[OperandUse, ...]
    together: tuple[tuple[str, ...], ...] = ()  # slots of one {.a.b}: all or none


def parse_syntax(line: str) -> Syntax:
    """Read a syntax line of the manual."""
    line = line.strip().rstrip(";").strip()
    match = re.match(r"[a-z][a-z0-9]*", line)
    if not match:
        raise NotationError(f"'{line}' does not start with an opcode")
    slots: list[SlotUse] = []
    together: list[tuple[str, ...]] = []
    position = match.end()
    while position < len(line) and not line[position].isspace():
        is_optional = line[position] == "{"
        group, position = _parse_group(line, position)
        slots += [SlotUse(name, is_optional, values) for name, values in group]
        if is_optional and len(group) > 1:
            together.append(tuple(name for name, _ in group))
    names = [slot.name for slot in slots]
    for name in names:
        if names.count(name) > 1:
            raise NotationError(f"'.{name}' stands twice in '{line}'")
    operands = _OperandReader(line[position:], line).read()
    return Syntax(match[0], tuple(slots), operands, tuple(together))


def _parse_group(line: str, position: int) -> tuple[list[tuple[str, str]], int]:
    """``.name``, ``.name{::a, ::b}``, or ``{`` several of them ``}``: names with default values."""
    piece = re.compile(rf"\.({NAME})(?:\{{\s*(::\w+(?:\s*,\s*::\w+)*)\s*\}})?")
    is_group = line[position] == "{"
    end = position + 1 if is_group else position
    group: list[tuple[str, str]] = []
    while not group or (is_group and line[end : end + 1] == "."):
        found = piece.match(line, end)
        if not found:
            raise NotationError(f"cannot read '{line[position:]}' in '{line}'")
        endings = [e.strip() for e in (found[2] or "").split(",") if e.strip()]
        group.append((found[1], " ".join([found[1], *(found[1] + e for e in endings)])))
        end = found.end()
    if is_group:
        if line[end : end + 1] != "}":
            raise NotationError(f"'{line[position:]}' in '{line}' lacks a closing brace")
        end += 1
    return group, end


class _OperandReader:
    """Recursive descent over the operands of a syntax line."""

    _TOKEN = re.compile(
        r"\s*(?:(?P<name>[A-Za-z][A-Za-z0-9_-]*)|(?P<mark>\{\.unified\}|[][{}(),|]))"
    )

    def __init__(self, text: str, line: str) -> None:
        self.line = line
        self.tokens: list[str] = []
        position, text = 0, text.rstrip()
        while position < len(text):
            found = self._TOKEN.match(text, position)
            if not found:
                raise self._error(text[position:])
            self.tokens.append(found["name"] or found["mark"])
            position = found.end()
        self.tokens.append("")
        self.at = 0

    def read(self) -> tuple[OperandUse, ...]:
        """All operands, to the end of the line."""
        return tuple(self._list(""))

    def _error(self, rest: str = "") -> NotationError:
        rest = rest or " ".join(self.tokens[self.at :])
        return NotationError(f"cannot read operands '{rest}' in '{self.line}'")

    def _take(self, token: str) -> bool:
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def _list(self, close: str) -> list[OperandUse]:
        """Operands up to `close`: ``a, b{, c}{|q}``."""
        operands: list[OperandUse] = []
        while not self._ends(close):
            if (operands or close == "}") and self._take(",") and self._ends(close):
                break
            if self._take("{"):
                if self._take("|"):
                    if not operands:
                        raise self._error()
                    operands[-1] = self._pair(operands[-1], optional=True)
                    if not self._take("}"):
                        raise self._error()
                else:
                    operands += [replace(use, optional=True) for use in self._list("}")]
                continue
            operand = self._primary()
            operands.append(self._pair(operand) if self._take("|") else operand)
        return operands

    def _ends(self, close: str) -> bool:
        return self._take(close) if close else self.at == len(self.tokens) - 1

    def _pair(self, first: OperandUse, optional: bool = False) -> OperandUse:
        second = replace(self._primary(), optional=optional)
        return OperandUse(f"{first.name}|{second.name}", first.optional, "pair", (first, second))

    def _primary(self) -> OperandUse:
        if self._take("["):
            parts = tuple(self._list("]"))
            if not parts or parts[0].shape or parts[0].optional:
                raise self._error()
            return OperandUse(parts[0].name, False, "address", parts, self._take("{.unified}"))
        if self._take("("):
            operand = self._primary()
            if operand.shape or not self._take(")"):
                raise self._error()
            return operand
        if not re.match("[A-Za-z]", self.tokens[self.at]):
            raise self._error()
        self.at += 1
        return OperandUse(self.tokens[self.at - 1], False)
