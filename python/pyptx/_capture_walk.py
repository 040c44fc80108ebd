# SPDX-License-Identifier: Apache-2.0
"""One look at everything that functions and values lead to: a key by content, places to watch.

What the code names itself is followed wherever it leads. What it reads without naming it, through
the special methods of classes and through strings, is followed too, but not into installed
packages, and what cannot be compared there is taken to be the same: a configuration that prints
itself with NumPy must not make its kernel one that is traced at every call.
"""

from __future__ import annotations

import collections
import enum
import functools
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pyptx._code_names import Names, modules_named, names_read

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
#: What gives a function the globals by their names as strings.
_NAMESPACES = frozenset(("globals", "vars", "eval", "exec"))
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


def _root(module: Any) -> str:
    """Return the package of a module's name; "" for what is no name: a class may define another."""
    return module.partition(".")[0] if isinstance(module, str) else ""


#: Packages that a body may name and that lead to thousands of functions: half a minute of JAX.
_FRAMEWORKS = frozenset(("jax", "jaxlib", "numpy", "torch", "triton"))


def _is_fixed_module(name: Any) -> bool:
    """Modules whose contents do not change under a kernel: ours, Python's and the frameworks'."""
    root = _root(name)
    # What collections.namedtuple writes says that it is of such a module.
    if root == "pyptx" or root in _FRAMEWORKS or root.startswith("namedtuple_"):
        return True
    return root in sys.stdlib_module_names and root != "test"


@functools.lru_cache(maxsize=1024)
def _is_installed(root: str) -> bool:
    """Whether a package lies where packages are installed to."""
    spec = getattr(sys.modules.get(root), "__spec__", None)
    if spec is None:
        return False
    places = (spec.origin, *(spec.submodule_search_locations or ()))
    return any("site-packages" in str(place) or "dist-packages" in str(place) for place in places)


class Reads(NamedTuple):
    """The names that functions read of whatever they meet."""

    #: Attributes that the code names.
    named: frozenset[str] = frozenset()
    #: Attributes that special methods name.
    implied: frozenset[str] = frozenset()
    #: Strings of the code that could be names.
    strings: frozenset[str] = frozenset()
    #: Packages of the functions themselves.
    packages: frozenset[str] = frozenset()

    def with_more(self, other: Reads) -> Reads:
        """Return the names of both."""
        return Reads(*(one | two for one, two in zip(self, other, strict=True)))


@functools.lru_cache(maxsize=256)
def _in_order(reads: Reads) -> tuple[list[str], list[str], list[str]]:
    """Return the names that are named, the others, and the strings, each in an order of its own."""
    others = (reads.implied | reads.strings) - reads.named
    return sorted(reads.named), sorted(others), sorted(reads.strings)


class _Same:
    """Stands for one object in a key. Holds it: a freed object's address is soon another's."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


class Walk:
    """One pass over everything reachable; collects the key and the places to look at again."""

    def __init__(self, reads: Reads) -> None:
        self._named, self._implied, self._strings = _in_order(reads)
        self._packages = reads.packages
        #: The names that the functions met read.
        self.named: set[str] = set()
        self.implied: set[str] = set()
        self.strings: set[str] = set()
        self.is_opaque = False
        self.is_mutable = False
        #: Rows of `_core.Guards`, by place.
        self.places: dict[Any, tuple[Any, ...]] = {}
        self._pins: list[Any] = []  # what _seen names by address, kept while it does
        self._seen: dict[int, int] = {}
        self._modules: list[dict[str, Any]] = []
        #: Attributes that are not read of something that never changes.
        self._open: set[str] = set()
        #: What is read without being named: (holder, name, value).
        self._later: collections.deque[tuple[_Same, str, Any]] = collections.deque()
        self._is_implied = False

    def reads(self) -> Reads:
        """Return the names that the functions met read."""
        return Reads(
            frozenset(self.named), frozenset(self.implied), frozenset(self.strings), self._packages
        )

    def key(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what these stand for, with everything that they lead to."""
        tokens = [
            self.function(value) if isinstance(value, types.FunctionType) else self.value(value)
            for value in values
        ]
        # After all else: whatever the code names itself has been met by then, and judged.
        self._is_implied = True
        while self._later:
            holder, name, item = self._later.popleft()
            tokens.append((holder, name, self.value(item)))
        for members in self._modules:
            for name in self._open | self.strings:
                if name not in members:
                    self._item(members, name)
        return tuple(tokens)

    def _is_left_alone(self, module: Any) -> bool:
        """Whether what belongs to this module is not looked into."""
        if _is_fixed_module(module):
            return True
        return self._is_implied and self._is_foreign(module)

    def _is_foreign(self, module: Any) -> bool:
        root = _root(module)
        return root not in self._packages and _is_installed(root)

    def _give_up(self, value: Any) -> _Same:
        self.is_opaque = self.is_opaque or not self._is_implied
        return _Same(value)

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
        names = names_read(fn.__code__)
        (self.implied if self._is_implied else self.named).update(names.attributes)
        self.strings |= names.strings
        self.places[id(fn)] = (fn, fn.__code__, fn.__defaults__, fn.__kwdefaults__)
        token: list[Any] = ["function", fn.__code__]
        for cell in fn.__closure__ or ():
            value = _cell_value(cell)
            self.places[id(cell)] = (cell,) if value is _MISSING else (cell, value)
            token.append(self.value(value))
        token.extend(self._globals(fn.__globals__, names))
        token.append(self.value(fn.__defaults__))
        # Watched by name, as globals are: a dict alone would count as mutable.
        defaults = fn.__kwdefaults__ or {}
        for name in defaults:
            token.append((name, self.value(self._item(defaults, name))))
        return tuple(token)

    def _globals(self, members: dict[str, Any], names: Names) -> Iterator[Any]:
        self._open |= names.by_global.get(None, frozenset())
        for name in names.loaded:
            found = self._item(members, name)
            if not _is_fixed_module(_module_of(found)):
                self._open |= names.by_global.get(name, frozenset())
            yield name, self.value(found)
        if not _NAMESPACES.isdisjoint(names.loaded):
            for name in self._strings:
                if name in members:
                    self._later.append((_Same(members), name, self._item(members, name)))
                else:
                    self._item(members, name)
        package = str(members.get("__package__") or members.get("__name__"))
        for imported in names.imported:
            *parents, last = modules_named(imported, package)
            if _is_fixed_module(last):
                continue
            # A package's own modules count as implied: an installed one would lead everywhere.
            if imported[0] == ".":
                parents.append(last)
            else:
                yield last, self.value(self._item(sys.modules, last))
            for name in parents:
                self._later.append((_Same(sys), name, self._item(sys.modules, name)))

    def value(self, value: Any) -> Any:
        kind = type(value)
        if value is _MISSING:
            return "missing"
        if kind in _SCALARS:
            return (kind, value)
        if kind is float:
            return (kind, value.hex())
        if isinstance(value, enum.Enum):
            self._later.append((_Same(value), "__class__", kind))
            return _Same(value)
        if kind in (tuple, frozenset, list, set, dict):
            return self._container(value)
        if isinstance(value, types.FunctionType):
            if self._is_left_alone(value.__module__):
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
            return self._module(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, _BY_IDENTITY) or _root(kind.__module__) == "pyptx":
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

    def _module(self, value: types.ModuleType) -> tuple[Any, ...]:
        """Return a module: itself, and those of its members that the code names."""
        token = ("is", _Same(value))
        if self._is_left_alone(value.__name__) or self._visited(value) is not None:
            return token
        members = vars(value)
        self._modules.append(members)
        found = [(name, self._item(members, name)) for name in self._named if name in members]
        for name in self._implied:
            if name in members:
                self._later.append((token[1], name, self._item(members, name)))
        return (*token, *((name, self.value(item)) for name, item in found))

    def _class(self, value: type) -> tuple[Any, ...]:
        """Return a class: itself, those of its members that the code names, special methods."""
        token = ("is", _Same(value))
        if self._is_left_alone(value.__module__) or self._visited(value) is not None:
            return token
        members: dict[str, Any] = {}
        special: dict[str, Any] = {}
        for base in reversed(value.__mro__):
            if not _is_fixed_module(base.__module__):
                members.update(vars(base))
                if not self._is_foreign(base.__module__):
                    special.update(_special_methods(base))
        found = [(name, members[name]) for name in self._named if name in members]
        special.update((name, members[name]) for name in self._implied if name in members)
        # A class cannot be watched as a dict.
        self.is_mutable = self.is_mutable or bool(found or special)
        special["__class__"] = type(value)
        self._later.extend((token[1], name, item) for name, item in special.items())
        return (*token, *((name, self.value(item)) for name, item in found))

    def _object(self, value: Any) -> Any:
        kind = type(value)
        if hasattr(kind, "dtype") and hasattr(kind, "shape"):
            return self._array(value)
        if self._is_implied and self._is_foreign(kind.__module__):
            return _Same(value)
        seen = self._visited(value)
        if seen is not None:
            return seen
        builtin = next((base for base in _CONTENTS if isinstance(value, base)), None)
        slots = [name for base in kind.__mro__ for name in _slots(base)]
        state = dict(getattr(value, "__dict__", {}))
        state.update({name: getattr(value, name, _MISSING) for name in slots if name[:2] != "__"})
        is_stateless = not state and not hasattr(value, "__dict__")
        if _hides_state(kind, builtin) or (is_stateless and builtin is None):
            return self._give_up(value)
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
            return self._give_up(value)
        return (type(value), str(value.dtype), value.shape, value.tobytes())


def _module_of(value: Any) -> Any:
    return value.__name__ if isinstance(value, types.ModuleType) else type(value).__module__


def _special_methods(kind: type) -> Mapping[str, Any]:
    """Return what the language calls of a class's instances, or of itself, without naming it."""
    return {
        name: member
        for name, member in vars(kind).items()
        if name[:2] == name[-2:] == "__"
        and (callable(member) or isinstance(member, classmethod))
        and not isinstance(member, type)
        and not _is_fixed_module(getattr(_unwrapped(member), "__module__", None))
    }


def _unwrapped(member: Any) -> Any:
    return member.__func__ if isinstance(member, (staticmethod, classmethod)) else member


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
