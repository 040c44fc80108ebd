# SPDX-License-Identifier: Apache-2.0
"""What functions are made of, as a number that is the same in every process.

The key of `Captures` compares within a process, and holds objects. Here each is written down by
what it is called or holds. What cannot be (an object of a class of somebody's, met by identity)
leaves the number inexact: another content may have it too.
"""

from __future__ import annotations

import enum
import hashlib
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from pyptx import __version__, _core
from pyptx._captures.walk import Same

#: Hexadecimal digits of a number. Names of one process are told apart by more than these.
DIGITS = 12
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
#: What shows all that it is.
_SHOWN = ("torch.dtype", "torch.device", "torch.layout", "torch.memory_format", "numpy.dtype")
_NAMED = (
    type,
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


class Content:
    """A number for the given parts: keys of `Captures`, texts, numbers."""

    def __init__(self, *parts: Any) -> None:
        #: Whether nothing else has the number.
        self.is_exact = True
        #: Kernels that were met, by whose operators a function calls them.
        self.operated: list[_core.OperatorBase] = []
        self._met: dict[int, int] = {}  # functions that were written down
        words = hashlib.sha256(f"{__version__} {sys.version_info[:2]}".encode())
        for part in parts:
            for word in self._words(part):
                words.update(f"{len(word)}:{word}".encode("utf-8", "surrogatepass"))
        self.digest = words.hexdigest()[:DIGITS]

    def _words(self, part: Any) -> Iterator[str]:
        kind = type(part)
        if kind is tuple or kind is list:
            yield f"{kind.__name__} {len(part)}"
            for item in part:
                yield from self._words(item)
        elif kind is frozenset or kind is set:
            yield f"set {len(part)}"
            yield from sorted(" ".join(self._words(item)) for item in part)
        elif kind is types.CodeType:
            yield from self._code(part)
        elif kind is Same:
            yield from self._object(part.value)
        elif kind in (bool, int, str, bytes, float, complex, type(None), type(Ellipsis)):
            yield f"{kind.__name__} {part!r}"
        else:
            yield from self._object(part)

    def _code(self, code: types.CodeType) -> Iterator[str]:
        """Say what code does, not where it stands: moving a file is no other kernel."""
        yield f"code {code.co_name} {code.co_flags} {code.co_argcount} {code.co_kwonlyargcount}"
        yield code.co_code.hex()
        for part in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            yield from self._words(part)
        yield code.co_exceptiontable.hex()
        yield from self._words(code.co_consts)

    def _object(self, value: Any) -> Iterator[str]:
        kind = type(value)
        if isinstance(value, _core.OperatorBase):
            self.operated.append(value)
            name = value._operator_name
            self.is_exact &= bool(name)
            yield f"kernel {name}"
        elif isinstance(value, types.ModuleType):
            yield f"module {value.__name__}"
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, _NAMED):
            owner = getattr(value, "__objclass__", None)
            module = getattr(value, "__module__", None) or getattr(owner, "__module__", None)
            yield f"{kind.__name__} {module} {value.__qualname__}"
        else:
            yield f"{kind.__module__} {kind.__qualname__}"
            shown = repr(value) if self._is_shown(value) else None
            self.is_exact &= shown is not None and _ADDRESS.search(shown) is None
            if shown is not None:
                yield _ADDRESS.sub("", shown)

    def _is_shown(self, value: Any) -> bool:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        root = kind.__module__.partition(".")[0]
        return name in _SHOWN or root in ("pyptx", "re", "numpy") or isinstance(value, enum.Enum)

    def _function(self, function: types.FunctionType) -> Iterator[str]:
        """Say what a function of ours or of Python's is: those of the author's are in the key."""
        yield f"function {function.__module__} {function.__qualname__}"
        if id(function) in self._met:
            yield f"met {self._met[id(function)]}"
            return
        self._met[id(function)] = len(self._met)
        # What launches kernels of its own choice would hide them from a graph of another process.
        if function.__module__.startswith("pyptx.kernels"):
            self.is_exact = False
        if function.__closure__ is None:
            return
        yield from self._code(function.__code__)
        for cell in function.__closure__:
            try:
                yield from self._words(cell.cell_contents)
            except ValueError:
                yield "empty"
