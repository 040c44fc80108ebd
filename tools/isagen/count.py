# SPDX-License-Identifier: Apache-2.0
"""Counts of elements: ``shape.m*shape.k*bits(atype)/1024``, read into postfix order.

A slot that is left out counts 0, and so does the whole then: the operand is no vector.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .notation import NotationError


@dataclass(frozen=True)
class Step:
    """One step of a count in postfix order.

    ``number`` pushes `value`; ``slot`` pushes what the word in `slot` says (`part`: "" for its
    first number, "2" for its second, "m" for the one after the letter m, "bits" for the bits of
    its type); ``+ - * / ceil min max`` take two numbers and push one.
    """

    op: str
    value: int = 0
    slot: str = ""
    part: str = ""


_TOKEN = re.compile(
    r"(?P<number>\d+)|(?P<name>[A-Za-z_]\w*(?:::\w+)*)(?:\.(?P<part>[a-z]|\d))?|(?P<mark>[-+*/(),])"
)
_FUNCTIONS = ("ceil", "min", "max")


class _Reader:
    """Recursive descent: sums of products of numbers, slots and functions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rest = text
        self.steps: list[Step] = []

    def read(self) -> tuple[Step, ...]:
        """Everything, in postfix order."""
        self._expression()
        if self.rest:
            raise self._error()
        return tuple(self.steps)

    def _error(self) -> NotationError:
        return NotationError(f"'{self.text}' is not a number of elements")

    def _take(self, mark: str) -> bool:
        if not self.rest.startswith(mark):
            return False
        self.rest = self.rest[len(mark) :]
        return True

    def _operators(self, marks: str, operand: Callable[[], None]) -> None:
        operand()
        while self.rest and self.rest[0] in marks:
            mark, self.rest = self.rest[0], self.rest[1:]
            operand()
            self.steps.append(Step(mark))

    def _expression(self) -> None:
        self._operators("+-", lambda: self._operators("*/", self._primary))

    def _primary(self) -> None:
        if self._take("("):
            self._expression()
            if not self._take(")"):
                raise self._error()
            return
        found = _TOKEN.match(self.rest)
        if not found or found["mark"]:
            raise self._error()
        self.rest = self.rest[found.end() :]
        if found["number"]:
            self.steps.append(Step("number", int(found["number"])))
        elif self.rest.startswith("("):
            self._call(found["name"])
        else:
            self.steps.append(Step("slot", 0, found["name"], found["part"] or ""))

    def _call(self, function: str) -> None:
        self._take("(")
        if function == "bits":
            found = _TOKEN.match(self.rest)
            if not found or not found["name"]:
                raise self._error()
            self.rest = self.rest[found.end() :]
            self.steps.append(Step("slot", 0, found["name"], "bits"))
        elif function in _FUNCTIONS:
            self._expression()
            if not self._take(","):
                raise self._error()
            self._expression()
            self.steps.append(Step(function))
        else:
            raise self._error()
        if not self._take(")"):
            raise self._error()


DEPTH = 16  # numbers that src/isa/resolve.cpp can hold while it works a count out


def parse_count(text: str) -> tuple[Step, ...]:
    """Read a count; the answer is never empty."""
    steps = _Reader(text).read()
    depth = deepest = 0
    for step in steps:
        depth += 1 if step.op in ("number", "slot") else -1
        deepest = max(deepest, depth)
    if deepest > DEPTH:
        raise NotationError(f"'{text}' nests too deeply")
    return steps


def number_in(word: str, part: str) -> int:
    """``m16n8k32``: 16; part "k": 32; ``sp::2:4``, part "2": 4."""
    if part.isdigit():
        numbers = re.findall(r"\d+", word)
        if len(numbers) >= int(part) > 0:
            return int(numbers[int(part) - 1])
    elif found := re.search(rf"{part}(\d+)", word):
        return int(found[1])
    raise NotationError(f"'{word}' has no number '{part}'" if part else f"'{word}' has no number")


def evaluate(steps: tuple[Step, ...], look_up: Callable[[Step], int]) -> int:
    """Run the steps; `look_up` answers those that ask a slot."""
    stack: list[int] = []
    for step in steps:
        if step.op == "number":
            stack.append(step.value)
        elif step.op == "slot":
            stack.append(look_up(step))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(_OPERATORS[step.op](left, right))
    return stack.pop() if stack else 0


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b else 0,
    "ceil": lambda a, b: -(-a // b) if b else 0,
    "min": min,
    "max": max,
}
