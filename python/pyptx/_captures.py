# SPDX-License-Identifier: Apache-2.0
"""What a trace reads besides its arguments: the function's code, captured variables and globals.

A specialisation is valid only while all of that is unchanged. `Captures` records it by content,
and answers cheaply whether it still holds. It never decides anything by text or by time stamps,
and says so (`is_opaque`) when a value cannot be compared; the caller then traces again.
"""

from __future__ import annotations

import collections
import dis
import enum
import functools
import sys
import types
from typing import Any, NamedTuple

from pyptx import _core

_MISSING = object()
_WRITTEN_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE; of the types that matter here
#: Builtin types that classes derive from, and how to get at what they hold.
_CONTENTS: dict[type, Any] = {
    int: int.__index__,
    float: float.hex,
    str: str.__str__,
    tuple: tuple,
    list: list,
    dict: dict,
    set: set,
    frozenset: frozenset,
}
_SCALARS = (type(None), bool, int, complex, str, bytes, type(Ellipsis), range)
_BY_IDENTITY = (
    type,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    type(vars(collections.namedtuple("_", "field"))["field"]),
)


class _Names(NamedTuple):
    """What a code object, and the functions in it, read by name."""

    loaded: tuple[str, ...]
    imported: tuple[str, ...]
    attributes: frozenset[str]


@functools.lru_cache(maxsize=4096)
def _names_read(code: types.CodeType) -> _Names:
    loaded: dict[str, None] = {}
    imported: dict[str, None] = {}
    attributes: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded[instruction.argval] = None
        elif instruction.opname == "IMPORT_NAME":
            imported[instruction.argval] = None
        elif instruction.opname.startswith(("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")):
            attributes.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names_read(constant)
            loaded.update(dict.fromkeys(inner.loaded))
            imported.update(dict.fromkeys(inner.imported))
            attributes |= inner.attributes
    return _Names(tuple(loaded), tuple(imported), frozenset(attributes))


def _is_fixed_module(name: str | None) -> bool:
    """Modules whose contents do not change under a kernel: ours and the standard library's."""
    root = (name or "").partition(".")[0]
    return root == "pyptx" or (root in sys.stdlib_module_names and root != "test")


class _Same:
    """Stands for one object in a key. Holds it: a freed object's address is soon another's."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


class _Walk:
    """One pass over everything reachable; collects the key and the places to look at again."""

    def __init__(self, attributes: frozenset[str] = frozenset()) -> None:
        #: Names of attributes that may be read of a module or class.
        self.attributes = attributes
        #: Those that the functions met name.
        self.named: set[str] = set()
        self.is_opaque = False
        self.is_mutable = False
        #: Rows of `_core.Guards`, by place.
        self.places: dict[Any, tuple[Any, ...]] = {}
        self._pins: list[Any] = []  # what _seen names by address, kept while it does
        self._seen: dict[int, int] = {}

    def _visited(self, value: Any) -> tuple[Any, ...] | None:
        """Return what stands for a value met before; None, and a number for it, the first time."""
        if id(value) in self._seen:
            return ("seen", self._seen[id(value)])
        self._seen[id(value)] = len(self._seen)
        self._pins.append(value)
        return None

    def _item(self, holder: dict[str, Any], name: str) -> Any:
        """Return what `holder` has under `name`, to be looked at again."""
        value = holder.get(name, _MISSING)
        found = () if value is _MISSING else (value,)
        self.places[(id(holder), name)] = (holder, name, *found)
        return value

    def function(self, fn: types.FunctionType) -> tuple[Any, ...]:
        seen = self._visited(fn)
        if seen is not None:
            return seen
        names = _names_read(fn.__code__)
        self.named |= names.attributes
        self.places[id(fn)] = (fn, fn.__code__, fn.__defaults__, fn.__kwdefaults__)
        token: list[Any] = ["function", fn.__code__]
        for cell in fn.__closure__ or ():
            value = _cell_value(cell)
            self.places[id(cell)] = (cell,) if value is _MISSING else (cell, value)
            token.append(self.value(value))
        for name in names.loaded:
            token.append((name, self.value(self._item(fn.__globals__, name))))
        for name in names.imported:
            if not _is_fixed_module(name):
                token.append((name, self.value(self._item(sys.modules, name))))
        token.append(self.value(fn.__defaults__))
        # Watched by name, as globals are: a dict alone would count as mutable.
        defaults = fn.__kwdefaults__ or {}
        for name in defaults:
            token.append((name, self.value(self._item(defaults, name))))
        return tuple(token)

    def value(self, value: Any) -> Any:
        kind = type(value)
        if value is _MISSING:
            return "missing"
        if kind in _SCALARS:
            return (kind, value)
        if kind is float:
            return (kind, value.hex())
        if isinstance(value, enum.Enum):
            return _Same(value)
        if kind in (tuple, frozenset, list, set, dict):
            return self._container(value)
        if isinstance(value, types.FunctionType):
            if _is_fixed_module(value.__module__):
                return _Same(value)
            return self.function(value)
        if isinstance(value, types.MethodType):
            return ("method", self.value(value.__func__), self.value(value.__self__))
        if isinstance(value, functools.partial):
            parts = (value.func, value.args, value.keywords)
            return ("partial", *(self.value(part) for part in parts))
        if isinstance(value, property):
            return (kind, self.value(value.fget))
        if isinstance(value, (staticmethod, classmethod)):
            return (kind, self.value(value.__func__))
        if isinstance(value, types.ModuleType):
            return self._holder(value, value.__name__, vars(value))
        if isinstance(value, type):
            members: dict[str, Any] = {}
            for base in reversed(value.__mro__):
                members.update(vars(base))
            return self._holder(value, value.__module__, members)
        if isinstance(value, _BY_IDENTITY) or kind.__module__.partition(".")[0] == "pyptx":
            return _Same(value)
        return self._object(value)

    def _container(self, value: Any) -> Any:
        if not isinstance(value, (tuple, frozenset)):
            self.is_mutable = True
            seen = self._visited(value)
            if seen is not None:
                return seen
        # Copied first: looking at a value may run code that changes the container.
        if isinstance(value, dict):
            return (dict, tuple((self.value(k), self.value(v)) for k, v in list(value.items())))
        items = [self.value(item) for item in list(value)]
        is_ordered = isinstance(value, (tuple, list))
        return (type(value), tuple(items) if is_ordered else frozenset(items))

    def _holder(self, value: Any, module: str, members: Any) -> tuple[Any, ...]:
        """Return a module or class: itself, and those of its members that the code names."""
        token = ("is", _Same(value))
        if _is_fixed_module(module) or self._visited(value) is not None:
            return token
        named = sorted(name for name in self.attributes if name in members)
        if isinstance(value, types.ModuleType):
            found = [(name, self._item(members, name)) for name in named]
        else:
            found = [(name, members[name]) for name in named]
            self.is_mutable = self.is_mutable or bool(named)  # a class cannot be watched as a dict
        return (*token, *((name, self.value(item)) for name, item in found))

    def _object(self, value: Any) -> Any:
        kind = type(value)
        if hasattr(kind, "dtype") and hasattr(kind, "shape"):
            return self._array(value)
        seen = self._visited(value)
        if seen is not None:
            return seen
        builtin = next((base for base in _CONTENTS if isinstance(value, base)), None)
        slots = [name for base in kind.__mro__ for name in _slots(base)]
        state = dict(getattr(value, "__dict__", {}))
        state.update({name: getattr(value, name, _MISSING) for name in slots if name[:2] != "__"})
        is_stateless = not state and not hasattr(value, "__dict__")
        if _hides_state(kind, builtin) or (is_stateless and builtin is None):
            self.is_opaque = True
            return _Same(value)
        self.is_mutable = self.is_mutable or not is_stateless
        content = None if builtin is None else self.value(_CONTENTS[builtin](value))
        members = tuple((name, self.value(item)) for name, item in state.items())
        return ("object", self.value(kind), content, members)

    def _array(self, value: Any) -> Any:
        """Return the elements of a NumPy array or scalar; others' cannot be seen from here."""
        self.is_mutable = True
        numpy = sys.modules.get("numpy")
        is_plain = numpy and (type(value) is numpy.ndarray or isinstance(value, numpy.generic))
        if not is_plain or value.dtype.hasobject:
            self.is_opaque = True
            return _Same(value)
        return (type(value), str(value.dtype), value.shape, value.tobytes())


def _slots(kind: type) -> tuple[str, ...]:
    named = vars(kind).get("__slots__", ())
    return (named,) if isinstance(named, str) else tuple(named)


def _hides_state(kind: type, builtin: type | None) -> bool:
    """Whether a class written in C, which may keep anything anywhere, is among the bases."""
    return any(
        not base.__flags__ & _WRITTEN_IN_PYTHON
        for base in kind.__mro__
        if base not in (object, builtin, collections.OrderedDict, collections.defaultdict)
    )


def _cell_value(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


class Captures:
    """The recorded state of everything that functions read besides their arguments."""

    __slots__ = ("guards", "is_opaque", "key")

    key: Any
    #: Whether a value was met that cannot be compared, not even by content.
    is_opaque: bool
    #: What the C entry asks before each call.
    guards: Any

    def __init__(self, *functions: Any) -> None:
        walk, self.key = _Walk(), ()
        # A value may be passed on, so any function met may read any attribute. Which ones are
        # named is known after a walk; looking at them may lead to further functions.
        while not self.key or not walk.named <= walk.attributes:
            walk = _Walk(walk.attributes | walk.named)
            self.key = tuple(
                walk.function(fn) if isinstance(fn, types.FunctionType) else walk.value(fn)
                for fn in functions
            )
        self.is_opaque = walk.is_opaque
        is_decided = not (walk.is_mutable or walk.is_opaque)
        self.guards = _core.Guards(list(walk.places.values()), is_decided)

    def holds(self) -> bool:
        """Whether nothing has changed, decided by identity; False when that cannot decide."""
        return bool(self.guards.hold())


def freeze(value: Any) -> tuple[Any, bool]:
    """Return a hashable token of a template value by content, and whether that was possible."""
    walk = _Walk()
    token = walk.value(value)
    return token, not walk.is_opaque
