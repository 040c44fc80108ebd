# SPDX-License-Identifier: Apache-2.0
"""What a trace reads besides its arguments: the function's code, captured variables and globals.

A specialisation is valid only while all of that is unchanged. `Captures` records it by content,
and answers cheaply whether it still holds. It never decides anything by text or by time stamps,
and says so (`is_opaque`) when a value cannot be compared; the caller then traces again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyptx import _core
from pyptx._captures.trail import Unwatched, warn
from pyptx._captures.walk import Reads, Walk

_NO_READS = Reads()


class Captures:
    """The recorded state of everything that functions read besides their arguments."""

    __slots__ = ("_found", "_functions", "_unwatched", "guards", "is_opaque", "key", "reads")

    key: Any
    #: Whether a value was met that cannot be compared, not even by content.
    is_opaque: bool
    #: What the C entry asks before each call.
    guards: Any
    #: The names that were looked for.
    reads: Reads

    def __init__(self, *functions: Any, before: Captures | None = None) -> None:
        self._functions = functions
        walk = None if before is None else self._looked_again(before)
        if walk is None:
            roots = (str(getattr(fn, "__module__", "")).partition(".")[0] for fn in functions)
            reads = Reads(packages=frozenset(roots))
            walk = self._looked(reads)
            # A value may be passed on, so any function met may read any attribute. Which ones are
            # named is known after a walk; looking at them may lead to further functions.
            while (more := reads.with_more(self._found)) != reads:
                reads = more
                walk = self._looked(reads)
        self.is_opaque = bool(walk.opaque)
        self._unwatched: Unwatched | None = next(iter(walk.opaque + walk.costly), None)
        self.guards = walk.guards()

    def _looked(self, reads: Reads) -> Walk:
        walk = Walk(reads)
        try:
            self.key = walk.key(self._functions)
        except RecursionError:  # too deep to be compared
            walk.give_up_on_depth()
            self.key = self._functions
        self.reads, self._found = reads, walk.reads()
        return walk

    def _looked_again(self, before: Captures) -> Walk | None:
        """Look for the names known from before; None where others are read now."""
        walk = self._looked(before.reads)
        return walk if self._found == before._found else None

    def warn(self, kernel: str) -> bool:
        """Say which value makes every call slow, where one does; whether there was one."""
        if self._unwatched is not None:
            warn(kernel, self._unwatched, is_opaque=self.is_opaque)
        return self._unwatched is not None

    def again(self) -> Captures:
        """Return what the same functions read now."""
        return Captures(*self._functions, before=self)

    def is_current(self) -> bool:
        """Whether nothing has changed, decided by content."""
        return self.holds() or self.again().key == self.key

    def holds(self) -> bool:
        """Whether nothing has changed, decided by identity; False when that cannot decide."""
        return bool(self.guards.hold())


def warn_of_values(fn: Any, values: Mapping[str, Any], reads: Reads) -> bool:
    """Say which template value makes every call slow, where one does; whether there was one."""
    walk = Walk(_as_implied(reads))
    for name, value in values.items():
        try:
            walk.argument(fn.__code__, name, value)
        except RecursionError:
            walk.give_up_on_depth()
    found = next(iter(walk.opaque + walk.costly), None)
    if found is not None:
        warn(fn.__name__, found, is_opaque=bool(walk.opaque))
    return found is not None


def _as_implied(reads: Reads) -> Reads:
    """Names of nothing in particular: none counts as named."""
    return reads._replace(named=frozenset(), implied=reads.named | reads.implied)


def freeze(values: dict[str, Any], reads: Reads = _NO_READS) -> tuple[Any, _core.Guards | None]:
    """Return a hashable token of template values by content, and what they are watched by.

    The dict is the question's own and is not watched itself. None where they cannot be compared.
    `reads` are the names by which the function that gets the values reads them. Whether they are of
    these is not known, so they do not decide whether a value can be compared.
    """
    reads = _as_implied(reads)
    while True:
        walk = Walk(reads)
        try:
            token = walk.key((values,))
        except RecursionError:  # too deep to be compared
            return None, None
        more = reads.with_more(_as_implied(walk.reads()))
        if more == reads:
            walk.places.pop(("items", id(values)))
            return token, None if walk.opaque else walk.guards()
        reads = more
