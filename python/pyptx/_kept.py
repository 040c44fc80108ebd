# SPDX-License-Identifier: Apache-2.0
"""Tables of what is kept so that it need not be made again: at most so many values, each.

The value that was added first goes where there are too many: a hit writes nothing. What has gone is
made again when it is asked for, and lives on with those who hold it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection
from typing import Any, Generic, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Key = TypeVar("Key")
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """A table of at most `most` values. Safe to use from several threads."""

    __slots__ = ("_lock", "_values", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._values: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return what is kept of this key."""
        return self._values.get(key)

    def keep(self, key: Key, value: Value) -> None:
        """Keep a value, as the latest, in place of what was there."""
        with self._lock:
            self._keep(key, value)

    def keep_first(self, key: Key, value: Value) -> Value:
        """Keep a value unless there is one; return the one that is kept."""
        with self._lock:
            if key not in self._values:
                self._keep(key, value)
            return self._values[key]

    def _keep(self, key: Key, value: Value) -> None:
        if key in self._values:
            self._drop(self._values.pop(key))
        elif len(self._values) >= self.most:
            self._drop(self._values.pop(next(iter(self._values))))
        self._values[key] = value

    def _drop(self, value: Value) -> None:
        """Hear of a value that goes, under the table's lock."""

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            values = tuple(self._values.values())
            self._values.clear()
            for value in values:
                self._drop(value)

    def values(self) -> Collection[Value]:
        """Return everything that is kept, the oldest first."""
        return tuple(self._values.values())

    def items(self) -> Collection[tuple[Key, Value]]:
        """Return everything that is kept with its key, the oldest first."""
        return tuple(self._values.items())

    def __len__(self) -> int:
        return len(self._values)


def kept(most: int) -> Callable[[Callable[Parameters, Value]], Callable[Parameters, Value]]:
    """Keep what a function of hashable arguments returns, for `most` calls."""

    def keeping(function: Callable[Parameters, Value]) -> Callable[Parameters, Value]:
        table: Kept[Any, tuple[Value]] = Kept(most)

        @functools.wraps(function)
        def found(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Value:
            key = (args, *kwargs.items())
            row = table.get(key)
            if row is None:
                row = table.keep_first(key, (function(*args, **kwargs),))
            return row[0]

        return found

    return keeping
