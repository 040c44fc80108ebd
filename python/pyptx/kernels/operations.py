# SPDX-License-Identifier: Apache-2.0
"""What the library's functions launch: built once for what is asked for, and found by name.

torch.compile runs what builds while it traces and keeps the name; the operation itself it reads
from `OPERATIONS`, as it reads any global. One that has made way for others is built again by the
next call of its kind, under another name; a compiled program that named it is compiled again.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from pyptx._kept import Kept
from pyptx.kernels import checks

#: Of each function, which has one for each kind of its arrays, options and configurations.
MOST_KEPT = 4096


class _Operations:
    """What has been built, an attribute each.

    Not a dict: torch.compile reads a dict once, and does not see what it has built since.
    """


OPERATIONS = _Operations()
_numbers = itertools.count()


class _Names(Kept[Any, str]):
    """Names by what was asked for; an operation whose name goes, goes."""

    __slots__ = ()

    def _drop(self, value: str) -> None:
        delattr(OPERATIONS, value)


def built_once(build: Callable[..., Any]) -> Callable[..., str]:
    """Make `build` return the name in `OPERATIONS` of what it builds."""
    names = _Names(MOST_KEPT)

    def name_of(*arguments: Any) -> str:
        name = names.get(arguments)
        if name is None:
            operation = build(*arguments)
            made = f"op{next(_numbers)}"
            setattr(OPERATIONS, made, operation)
            name = names.keep_first(arguments, made)
            if name != made:  # another thread was first
                delattr(OPERATIONS, made)
        return name

    return functools.wraps(build)(checks.settled(name_of))
