# SPDX-License-Identifier: Apache-2.0
"""Tables of what is kept so that it need not be made again: at most so many values, each.

The value that was added first goes where there are too many: a hit writes nothing. What has gone is
made again when it is asked for, and lives on with those who hold it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Generic, TypeVar

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
        self._values.pop(key, None)
        if len(self._values) >= self.most:
            del self._values[next(iter(self._values))]
        self._values[key] = value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()

    def values(self) -> Collection[Value]:
        """Return everything that is kept, the oldest first."""
        return tuple(self._values.values())

    def __len__(self) -> int:
        return len(self._values)
