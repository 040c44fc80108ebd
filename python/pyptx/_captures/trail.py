# SPDX-License-Identifier: Apache-2.0
"""How a kernel's body gets at a value, and what to say of values that cannot be watched."""

from __future__ import annotations

import dis
import types
import warnings
from typing import Any, NamedTuple

from pyptx._errors import CaptureWarning

_READS = (
    "LOAD_GLOBAL",
    "LOAD_NAME",
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR",
)


class Trail:
    """The name that a function reads, and the steps from there: `CONFIG`, `.table`, `[3]`."""

    __slots__ = ("_code", "_name", "_parent", "_step")

    def __init__(
        self,
        code: types.CodeType | None = None,
        name: str = "",
        parent: Trail | None = None,
        step: str = "",
    ) -> None:
        self._code = code
        self._name = name
        self._parent = parent
        self._step = step

    def then(self, step: str) -> Trail:
        """Return the trail that goes one step further."""
        return Trail(self._code, self._name, self, step)

    def __str__(self) -> str:
        """Return it as the author would write it."""
        steps = []
        at: Trail | None = self
        while at is not None:
            steps.append(at._step)
            at = at._parent
        text = self._name + "".join(reversed(steps))
        # What is deep inside is of no help.
        return text if len(text) <= 80 else f"{text[:77]}..."

    def place(self) -> tuple[str, int]:
        """Return the file and line where the name is first read."""
        if self._code is None:
            return "<kernel>", 1
        line = _line_of(self._code, self._name)
        return self._code.co_filename, line or self._code.co_firstlineno


def _line_of(code: types.CodeType, name: str) -> int | None:
    line = None
    for instruction in dis.get_instructions(code):
        position = instruction.positions
        if position is not None and position.lineno is not None:
            line = position.lineno
        if instruction.argval == name and instruction.opname.startswith(_READS):
            return line
    inner = (_line_of(c, name) for c in code.co_consts if isinstance(c, types.CodeType))
    return next((line for line in inner if line is not None), None)


class Unwatched(NamedTuple):
    """A value that cannot be watched, and how it is reached."""

    trail: Trail
    value: Any


_WHAT_TO_DO = {
    "ndarray": "keep what the kernel needs of it in a tuple or in bytes, which cannot change",
    "Tensor": "read the number outside the kernel, as in scale = float(tensor), or pass the tensor "
    "as an argument",
}
_OTHERWISE = (
    "read what the kernel needs of it outside, into a number, a string or a tuple, and capture that"
)


def warn(kernel: str, unwatched: Unwatched, *, is_opaque: bool) -> None:
    """Say at the line that reads it which value makes every call of a kernel slow."""
    kind = type(unwatched.value)
    what = f"{unwatched.trail}" or "a default value"
    about = f"{kind.__module__}.{kind.__qualname__}"
    cost = (
        "cannot be compared, so the kernel is traced at every call"
        if is_opaque
        else "is compared element by element at every call, which takes longer than the launch"
    )
    if unwatched.value is None:
        about, cost = "nested too deep", "cannot be compared, so the kernel is traced at every call"
    fix = _WHAT_TO_DO.get(kind.__name__, _OTHERWISE)
    file, line = unwatched.trail.place()
    text = f"kernel {kernel!r} reads {what} ({about}), which {cost}; {fix}"
    warnings.warn_explicit(text, CaptureWarning, file, line)
