# SPDX-License-Identifier: Apache-2.0
"""A grid function as expressions of sizes: asked with objects that stand for any size.

Arithmetic on an `OpenSize` is written down, in the words of `interop::SizeExpression`. A comparison
has no answer yet, so the function is asked once for each answer, and the results become one
expression with a choice: `min`, `max`, conditional expressions and `if` work as they stand. What
needs a number (a float, `range`, an index) is refused with what to write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyptx._call.refusals import refuse
from pyptx._call.signature import asked_grid, dim3_parts, normalize_dim3, whole_number

#: Ways through a grid function. One that loops over sizes has no end of them.
MOST_PATHS = 64

_Tree = tuple[str, ...]  # the three expressions


class OpenSize:
    """A whole number that is not known yet, and how it follows from sizes."""

    __slots__ = ("_paths", "text")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str, paths: _Paths) -> None:
        self.text = text
        self._paths = paths

    def _with(self, word: str, first: Any, second: Any) -> Any:
        return OpenSize(f"{word} {self._text(first)} {self._text(second)}", self._paths)

    def _text(self, x: Any) -> str:
        if isinstance(x, OpenSize):
            return x.text
        number = whole_number(x)
        return self._needs_number() if number is None else str(number)

    def __add__(self, other: Any) -> Any:
        return self._with("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._with("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._with("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("*", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._with("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._with("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._with("%", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __neg__(self) -> Any:
        return self._with("-", 0, self)

    def __pos__(self) -> OpenSize:
        return self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __eq__(self, other: object) -> Any:
        return self._with("==", self, other)

    def __ne__(self, other: object) -> Any:
        return self._with("!=", self, other)

    def __lt__(self, other: Any) -> Any:
        return self._with("<", self, other)

    def __le__(self, other: Any) -> Any:
        return self._with("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._with("<", other, self)

    def __ge__(self, other: Any) -> Any:
        return self._with("<=", other, self)

    def __bool__(self) -> bool:
        return self._paths.answer(self.text)

    def _needs_number(self, *_: Any) -> Any:
        self._paths.refuse(
            "needs a number of a size that only a launch knows; write whole-number arithmetic "
            "(+ - * // %), comparisons, min and max: -(-M // 128) rounds up"
        )

    __index__ = __int__ = __float__ = __truediv__ = __rtruediv__ = __pow__ = _needs_number
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = _needs_number
    __or__ = __ror__ = __rpow__ = __round__ = __ceil__ = __floor__ = __trunc__ = _needs_number

    def __repr__(self) -> str:
        return f"<the size {self.text}>"


class _Paths:
    """Which way each comparison goes while the function is asked again and again."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.asked = 0
        self.given: list[bool] = []  # answers of this run, in their order
        self.met: list[str] = []  # the comparisons, in their order

    def refuse(self, why: str) -> Any:
        refuse("OpenSizes", self.what, why)

    def answer(self, text: str) -> bool:
        if text in self.met:
            return self.given[self.met.index(text)]
        at = len(self.met)
        self.met.append(text)
        if at == len(self.given):
            self.given.append(True)
        return self.given[at]

    def walk(self, ask: Callable[[], _Tree], prefix: tuple[bool, ...] = ()) -> _Tree:
        """Return the expressions behind these answers."""
        self.asked += 1
        if self.asked > MOST_PATHS:
            self.refuse(f"compares sizes in more than {MOST_PATHS} ways; write it as an expression")
        self.given, self.met = list(prefix), []
        found = ask()
        met = tuple(self.met)
        # The first run took every comparison behind the prefix as true: from the last to the first,
        # what it would be otherwise.
        for at in range(len(met) - 1, len(prefix) - 1, -1):
            other = self.walk(ask, (*prefix, *(True,) * (at - len(prefix)), False))
            found = tuple(
                a if a == b else f"? {met[at]} {a} {b}" for a, b in zip(found, other, strict=True)
            )
        return found


def open_grid(name: str, grid: Any, values: dict[str, Any], sizes: tuple[str, ...]) -> _Tree:
    """Return three expressions for a grid, where these names are sizes of the launch."""
    paths = _Paths(f"kernel {name!r}: grid")
    known = {**values, **{size: OpenSize(size, paths) for size in sizes}}

    def ask() -> _Tree:
        found = asked_grid(name, grid, known)
        parts = dim3_parts(paths.what, found)
        known_parts = [1 if isinstance(part, OpenSize) else part for part in parts]
        numbers = normalize_dim3(paths.what, known_parts)
        return tuple(
            part.text if isinstance(part, OpenSize) else str(number)
            for part, number in zip(parts, numbers, strict=True)
        )

    return paths.walk(ask)
