# SPDX-License-Identifier: Apache-2.0
"""One look at everything that functions and values lead to: a key by content, places to watch.

Whatever goes into the key and can change leaves a row of `_core.Guards`: while all rows hold, the
key is what it was. What the code names itself is followed wherever it leads. What it reads without
naming it, through the special methods of classes and through strings, is followed too, but not into
installed packages, and what cannot be compared there is taken to be the same: a configuration that
prints itself with NumPy, or keeps a lock, must not make its kernel one that is traced at every
call.
"""

from __future__ import annotations

import collections
import enum
import functools
import gc
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyptx import _core
from pyptx._captures import kinds
from pyptx._captures.code_names import Names, modules_named, names_read
from pyptx._captures.trail import Trail, Unwatched
from pyptx._kept import kept

_MISSING = object()
#: What gives a function the globals by their names as strings.
_NAMESPACES = frozenset(("globals", "vars", "eval", "exec"))
#: Bytes of an array that are compared before each call; a larger one is compared by Python.
MOST_BYTES = 16384
_PARTIAL_MEMBERS = ("func", "args", "keywords")
#: What wraps one function, and under which name.
_WRAPPERS: dict[type, str] = {
    property: "fget",
    staticmethod: "__func__",
    classmethod: "__func__",
}


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


@kept(256)
def _in_order(reads: Reads) -> tuple[list[str], list[str], list[str], frozenset[str]]:
    """Return the names that are named, the others, the strings, each in an order, and all names."""
    others = (reads.implied | reads.strings) - reads.named
    every = reads.named | reads.implied | reads.strings
    return sorted(reads.named), sorted(others), sorted(reads.strings), every


class Same:
    """Stands for one object in a key. Holds it: a freed object's address is soon another's."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Walk:
    """One pass over everything reachable; collects the key and the places to look at again."""

    def __init__(self, reads: Reads) -> None:
        self._named, self._implied, self._strings, self._read = _in_order(reads)
        self._packages = reads.packages
        #: The names that the functions met read.
        self.named: set[str] = set()
        self.implied: set[str] = set()
        self.strings: set[str] = set()
        #: What cannot be compared at all, and what cannot be compared by rows.
        self.opaque: list[Unwatched] = []
        self.costly: list[Unwatched] = []
        #: Rows of `_core.Guards`, by place.
        self.places: dict[Any, tuple[Any, ...]] = {}
        self._pins: list[Any] = []  # what _seen names by address, kept while it does
        self._seen: dict[int, int] = {}
        self._modules: list[dict[str, Any]] = []
        #: Attributes that are not read of something that never changes.
        self._open: set[str] = set()
        #: What is read without being named: (holder, name, value).
        self._later: collections.deque[tuple[Any, str, Any, Trail]] = collections.deque()
        self._is_implied = False
        self._trail = Trail()

    def reads(self) -> Reads:
        """Return the names that the functions met read."""
        return Reads(
            frozenset(self.named), frozenset(self.implied), frozenset(self.strings), self._packages
        )

    def key(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what these stand for, with everything that they lead to."""
        tokens = [
            self.function(value) if type(value) is types.FunctionType else self.value(value)
            for value in values
        ]
        # After all else: whatever the code names itself has been met by then, and judged.
        self._is_implied = True
        while self._later:
            holder, name, item, self._trail = self._later.popleft()
            tokens.append((holder, name, self.value(item)))
        for members in self._modules:
            for name in self._open | self.strings:
                if name not in members:
                    self._item(members, name)
        return tuple(tokens)

    def argument(self, code: types.CodeType, name: str, value: Any) -> None:
        """Look at what a function is given under a name."""
        self._along(Trail(code, name), value)

    def guards(self) -> _core.Guards:
        """Return what holds as long as the key is what it is."""
        return _core.Guards(list(self.places.values()), not (self.opaque or self.costly))

    # --- what is left out ------------------------------------------------------------------------

    def _is_left_alone(self, module: Any) -> bool:
        """Whether what belongs to this module is not looked into."""
        if kinds.is_fixed_module(module):
            return True
        return self._is_implied and self._is_foreign(module)

    def _is_foreign(self, module: Any) -> bool:
        root = kinds.root_of(module)
        return root not in self._packages and kinds.is_installed(root)

    def _give_up(self, value: Any) -> Same:
        if not self._is_implied:
            self.opaque.append(Unwatched(self._trail, value))
        return Same(value)

    def give_up_on_depth(self) -> None:
        """Say that what was being looked at is too deep to be compared."""
        self.opaque.append(Unwatched(self._trail, None))

    def _visited(self, value: Any) -> tuple[Any, ...] | None:
        """Return what stands for a value met before; None, and a number for it, the first time."""
        if id(value) in self._seen:
            return ("seen", self._seen[id(value)])
        self._seen[id(value)] = len(self._seen)
        self._pins.append(value)
        return None

    # --- rows ------------------------------------------------------------------------------------

    def _item(self, holder: dict[str, Any], name: str) -> Any:
        """Return what `holder` has under `name`, to be looked at again."""
        value = holder.get(name, _MISSING)
        found = () if value is _MISSING else (value,)
        self.places[("item", id(holder), name)] = ("item", holder, name, *found)
        return value

    def _items(self, row: str, holder: Any, members: dict[Any, Any]) -> dict[Any, Any]:
        """Return all that a dict, or a class, holds; `members` is a copy of it."""
        flat = tuple(part for item in members.items() for part in item)
        self.places[(row, id(holder))] = (row, holder, flat)
        return members

    def _instance_dict(self, value: Any) -> dict[str, Any]:
        members = _core.instance_dict(value)
        if members is None:
            return {}
        self.places[("dict", id(value))] = ("dict", value, members)
        return self._items("items", members, dict(members))

    def _member(self, value: Any, descriptor: Any) -> Any:
        """Return what is in a slot, to be looked at again."""
        try:
            found = descriptor.__get__(value)
        except AttributeError:
            found = _MISSING
        rest = () if found is _MISSING else (found,)
        self.places[("member", id(value), id(descriptor))] = ("member", value, descriptor, *rest)
        return found

    def _bytes(self, value: Any) -> Any:
        """Return the bytes of an array, to be looked at again where they are not too many."""
        try:
            view = memoryview(value)
        except (TypeError, ValueError, BufferError):
            if not kinds.is_array(type(value)):  # a view that was released
                return self._give_up(value)
            self.costly.append(Unwatched(self._trail, value))  # elements that Python cannot name
            return bytes(value.tobytes())
        content = view.tobytes()
        if len(content) > MOST_BYTES:
            self.costly.append(Unwatched(self._trail, value))
        else:
            row = ("bytes", value, content, view.format, view.shape)
            self.places[("bytes", id(value))] = row
        return content

    # --- functions -------------------------------------------------------------------------------

    def function(self, fn: types.FunctionType) -> tuple[Any, ...]:
        """Return a function: its code, and all that it reads besides its arguments."""
        seen = self._visited(fn)
        if seen is not None:
            return seen
        code = fn.__code__
        names = names_read(code)
        (self.implied if self._is_implied else self.named).update(names.attributes)
        self.strings |= names.strings
        attributes = _core.instance_dict(fn)
        row = ("function", fn, code, fn.__defaults__, fn.__kwdefaults__, attributes)
        self.places[id(fn)] = row
        token: list[Any] = ["function", code]
        for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
            value = _cell_value(cell)
            rest = () if value is _MISSING else (value,)
            self.places[id(cell)] = ("cell", cell, *rest)
            token.append(self._along(Trail(code, name), value))
        token.extend(self._globals(fn.__globals__, code, names))
        token.append(self._along(Trail(code, ""), fn.__defaults__))
        # Watched by name, as globals are.
        defaults = fn.__kwdefaults__ or {}
        for name in defaults:
            token.append((name, self._along(Trail(code, name), self._item(defaults, name))))
        if attributes is not None:
            token.append(self._state(fn, self._items("items", attributes, dict(attributes))))
        return tuple(token)

    def _globals(
        self, members: dict[str, Any], code: types.CodeType, names: Names
    ) -> Iterator[Any]:
        self._open |= names.by_global.get(None, frozenset())
        for name in names.loaded:
            found = self._item(members, name)
            if not kinds.is_fixed_module(kinds.module_of(found)):
                self._open |= names.by_global.get(name, frozenset())
            yield name, self._along(Trail(code, name), found)
        if not _NAMESPACES.isdisjoint(names.loaded):
            for name in self._strings:
                found = self._item(members, name)
                if found is not _MISSING:
                    self._later.append((Same(members), name, found, Trail(code, name)))
        package = str(members.get("__package__") or members.get("__name__"))
        for imported in names.imported:
            *parents, last = modules_named(imported, package)
            if kinds.is_fixed_module(last):
                continue
            # A package's own modules count as implied: an installed one would lead everywhere.
            if imported[0] == ".":
                parents.append(last)
            else:
                yield last, self._along(Trail(code, last), self._item(sys.modules, last))
            for name in parents:
                found = self._item(sys.modules, name)
                self._later.append((Same(sys), name, found, Trail(code, name)))

    # --- values ----------------------------------------------------------------------------------

    def _along(self, trail: Trail, value: Any) -> Any:
        """Return what stands for a value that is reached so."""
        before, self._trail = self._trail, trail
        token = self.value(value)
        self._trail = before
        return token

    def _inside(self, step: str, value: Any) -> Any:
        return self._along(self._trail.then(step), value)

    def value(self, value: Any) -> Any:
        """Return what stands for a value in the key."""
        kind = type(value)
        if value is _MISSING:
            return "missing"
        if kind in kinds.SCALARS:
            return (kind, value)
        if kind is float:
            return (kind, value.hex())
        if kind is complex:
            return (kind, value.real.hex(), value.imag.hex())
        if kind is tuple or kind is frozenset:
            return self._contents(value)
        if kind is slice:
            return (kind, self._contents((value.start, value.stop, value.step)))
        if kind is range:
            return (kind, value.start, value.stop, value.step)
        # By its class: an object may say that it is of another.
        if issubclass(kind, enum.Enum):
            return self._enum(value)
        if kind is types.FunctionType:
            # Not by __module__, which functools.wraps copies.
            if self._is_left_alone(value.__globals__.get("__name__")):
                return Same(value)
            return self.function(value)
        if kind is types.MethodType:
            return ("method", self.value(value.__func__), self.value(value.__self__))
        if kind in (types.BuiltinMethodType, types.MethodWrapperType):
            return self._builtin(value)
        for base, name in _WRAPPERS.items():
            if issubclass(kind, base):
                return self._wrapper(value, base, name)
        if issubclass(kind, types.ModuleType):
            return self._module(value)
        if issubclass(kind, type):
            return self._class(value)
        if kinds.is_same_by_identity(value):
            return Same(value)
        if kinds.is_path(value):
            return (kind, str(value))
        if kind is types.MappingProxyType:
            return (kind, self.value(*gc.get_referents(value)))
        return self._object(value)

    def _builtin(self, value: Any) -> Any:
        """Return a function in C: itself, or what it is bound to, as `table.get` is.

        Bound to what cannot be looked into (a queue's put) it is itself too.
        """
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType) or kinds.hides_state(type(owner)):
            return Same(value)
        return ("method", value.__name__, self.value(owner))

    def _wrapper(self, value: Any, base: type, name: str) -> Any:
        """Return a property or the like: what it wraps, and the class where that is another."""
        wrapped = self.value(self._member(value, vars(base)[name]))
        if type(value) is base:
            return (base, wrapped)
        state = [(key, self.value(item)) for key, item in self._instance_dict(value).items()]
        return (base, wrapped, self.value(type(value)), *state)

    def _enum(self, value: enum.Enum) -> Any:
        """Return a member of an enumeration: itself, and what its value holds."""
        seen = self._visited(value)
        if seen is not None:
            return seen
        self._later.append((Same(value), "__class__", type(value), self._trail))
        state = self._instance_dict(value)
        held = [self.value(item) for name, item in state.items() if name != "__objclass__"]
        return (Same(value), *held)

    def _contents(self, value: Any) -> Any:
        """Return what a tuple or a frozenset holds."""
        items = [self._inside(f"[{i}]", item) for i, item in enumerate(value)]
        return (type(value), tuple(items) if isinstance(value, tuple) else frozenset(items))

    def _container(self, value: Any) -> Any:
        """Return what a container that can change holds, without asking a class of the author's."""
        if isinstance(value, dict):
            return self._mapping(value)
        base = next(base for base in kinds.CONTAINERS if isinstance(value, base))
        items = tuple(base.__iter__(value))  # copied: looking at a value may change the container
        row = ("list", value, items) if base is list else ("iterated", value, base, items)
        self.places[("items", id(value))] = row
        tokens = [self._inside(f"[{i}]", item) for i, item in enumerate(items)]
        bound = value.maxlen if base is collections.deque else None
        return (base, bound, frozenset(tokens) if base is set else tuple(tokens))

    def _mapping(self, value: dict[Any, Any]) -> Any:
        members = self._items("items", value, dict(dict.items(value)))
        order: tuple[Any, ...] = tuple(members)
        if isinstance(value, collections.OrderedDict):  # has an order of its own
            base = collections.OrderedDict
            order = tuple(base.__iter__(value))
            self.places[("order", id(value))] = ("iterated", value, base, order)
        factory = None
        if isinstance(value, collections.defaultdict):
            descriptor = vars(collections.defaultdict)["default_factory"]
            factory = self.value(self._member(value, descriptor))
        tokens = []
        for key in order:
            step = f"[{key!r}]" if type(key) in (str, int) else "[...]"
            tokens.append((self.value(key), self._inside(step, members[key])))
        return (dict, factory, tuple(tokens))

    def _module(self, value: types.ModuleType) -> tuple[Any, ...]:
        """Return a module: itself, and those of its members that the code names."""
        token = ("is", Same(value))
        if self._is_left_alone(value.__name__) or self._visited(value) is not None:
            return token
        members = vars(value)
        self._modules.append(members)
        found = [(name, self._item(members, name)) for name in self._named if name in members]
        for name in self._implied:
            if name in members:
                item = self._item(members, name)
                self._later.append((token[1], name, item, self._trail.then(f".{name}")))
        return (*token, *((name, self._inside(f".{name}", item)) for name, item in found))

    def _class(self, value: type) -> tuple[Any, ...]:
        """Return a class: itself, those of its members that the code names, special methods."""
        token = ("is", Same(value))
        is_left_alone = kinds.is_fixed_class(value) or (
            self._is_implied and self._is_foreign(value.__module__)
        )
        if is_left_alone or self._visited(value) is not None:
            return token
        mro = value.__mro__
        self.places[("mro", id(value))] = ("mro", value, mro)
        members: dict[str, Any] = {}
        special: dict[str, Any] = {}
        for base in reversed(mro):
            if not kinds.is_fixed_class(base):
                members.update(self._items("members", base, dict(vars(base))))
                if not self._is_foreign(base.__module__):
                    special.update(kinds.special_methods(base))
        found = [(name, members[name]) for name in self._named if name in members]
        special.update((name, members[name]) for name in self._implied if name in members)
        special["__class__"] = type(value)
        for name, item in special.items():
            self._later.append((token[1], name, item, self._trail.then(f".{name}")))
        return (*token, *((name, self._inside(f".{name}", item)) for name, item in found))

    def _object(self, value: Any) -> Any:
        """Return an object: its class, what it holds as a container, and its attributes."""
        kind = type(value)
        if kinds.is_array(kind):
            return self._array(value)
        if self._is_implied and self._is_foreign(kind.__module__):
            return Same(value)
        seen = self._visited(value)
        if seen is not None:
            return seen
        if kinds.hides_state(kind):
            return self._give_up(value)
        content = self._content(value)
        if kind in kinds.PLAIN:
            return (kind, content)
        members = self._instance_dict(value)
        for name, descriptor in kinds.slots_of(kind).items():
            members[name] = self._member(value, descriptor)
        self.places[("type", id(value))] = ("type", value, kind)
        return ("object", self.value(kind), content, self._state(value, members))

    def _state(self, value: Any, members: dict[str, Any]) -> tuple[Any, ...]:
        """Return the attributes of an object; those that nobody names need not be comparable."""
        tokens = []
        for name, item in members.items():
            trail = self._trail.then(f".{name}")
            if name in self._read or item is _MISSING:
                tokens.append((name, self._along(trail, item)))
            else:
                tokens.append((name, "later"))
                self._later.append((self._seen[id(value)], name, item, trail))
        return tuple(tokens)

    def _content(self, value: Any) -> Any:
        """Return what an object holds besides attributes; None where it is no container."""
        for base, held in kinds.FIXED_CONTENTS.items():
            if isinstance(value, base):
                return (base, self.value(held(value)))
        if isinstance(value, functools.partial):
            parts = (vars(functools.partial)[name] for name in _PARTIAL_MEMBERS)
            return ("partial", *(self.value(self._member(value, part)) for part in parts))
        if isinstance(value, kinds.CACHED_FUNCTION):
            return ("cached", self.value(value.__wrapped__))
        if isinstance(value, kinds.CONTAINERS):
            return self._container(value)
        if isinstance(value, kinds.BUFFERS):
            content = self._bytes(value)
            shape: Any = getattr(value, "typecode", "")
            if isinstance(value, memoryview) and isinstance(content, bytes):
                shape = (value.format, value.shape)
            return (type(value), shape, content)
        return None

    def _array(self, value: Any) -> Any:
        """Return the elements of a NumPy array or scalar; others' cannot be seen from here."""
        seen = self._visited(value)
        if seen is not None:
            return seen
        if not kinds.has_array_bytes(value):
            return self._give_up(value)
        content = value.tobytes() if kinds.is_fixed_scalar(value) else self._bytes(value)
        return (type(value), str(value.dtype), value.shape, content)


def _cell_value(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING
