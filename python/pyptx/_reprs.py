# SPDX-License-Identifier: Apache-2.0
"""How what authors hold in a trace is shown, in a debugger or where somebody prints it.

Set once, when the package is imported; the extension needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyptx import _core


def _shared(view: Any) -> str:
    parts = [view.name, f"{view.dtype}[{', '.join(map(str, view.shape))}]"]
    if view.swizzle:
        parts.append(f"swizzle {view.swizzle}")
    return " ".join([*parts, _place(view.byte_offset)])


def _place(offset: Any) -> str:
    if offset is None:
        return "at a place that a register decides"
    return f"at {offset}" if isinstance(offset, int) else f"at {offset!r}"


def _registers(array: Any) -> str:
    names = [one.name for one in array.regs()]
    shown = ", ".join(names) if len(names) <= 4 else f"{names[0]}, ..., {names[-1]}"
    return f"{array.dtype}[{len(names)}] {shown}"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "RegArray": _registers,
    "NegPred": lambda one: f"!{one.reg.name}",
    "PipeRef": lambda one: f"{_name(one.first)}|{_name(one.second)}",
    "Address": lambda one: f"with offset {one.offset}" if one.offset else "in memory",
    "smem.SharedAlloc": _shared,
    "smem.SharedSlice": _shared,
    "ptx.mbarrier.MbarrierArray": lambda one: f"{one.name}[{one.count}] {_place(one.byte_offset)}",
    "ptx.mbarrier.MbarrierRef": lambda one: one.name,  # a register may choose it
    "ptx.mbarrier.Pipeline": lambda one: (
        f"of {one.stages} stages, stage {one.stage.name}, phase {one.phase.name}"
    ),
}


def _name(destination: Any) -> str:
    return str(getattr(destination, "name", destination))


def set_reprs() -> None:
    """Have these classes show what they are."""
    for path, words in _SHOWN.items():
        kind: Any = _core
        for name in path.split("."):
            kind = getattr(kind, name)
        kind.__repr__ = _repr_of(kind, words)


def _repr_of(kind: Any, words: Callable[[Any], str]) -> Callable[[Any], str]:
    name = kind.__name__

    def __repr__(self: Any) -> str:
        return f"<{name} {words(self)}>"

    # Its class's own, for whoever asks where it is from.
    __repr__.__module__, __repr__.__qualname__ = kind.__module__, f"{kind.__qualname__}.__repr__"
    return __repr__
