# SPDX-License-Identifier: Apache-2.0
"""Numbers from a seed, the same everywhere: SplitMix64 over arrays, named by a string."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np


class Stream:
    """A source of 64-bit words; two streams of one name give the same words."""

    def __init__(self, name: str) -> None:
        self._state = np.uint64(zlib.crc32(name.encode()) << 32 | zlib.crc32(name[::-1].encode()))

    def words(self, count: int) -> Any:
        """Return the next `count` words."""
        with np.errstate(over="ignore"):
            step = np.uint64(0x9E3779B97F4A7C15)
            z = self._state + np.arange(1, count + 1, dtype=np.uint64) * step
            self._state = z[-1] if count else self._state
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return z ^ (z >> np.uint64(31))

    def below(self, bound: int, count: int) -> Any:
        """Return `count` numbers from 0 to bound - 1."""
        return (self.words(count) % np.uint64(bound)).astype(np.int64)

    def bits(self, width: int, count: int) -> Any:
        """Return `count` numbers of `width` bits, as the unsigned type of that width."""
        kind = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
        return (self.words(count) >> np.uint64(64 - width)).astype(kind)
