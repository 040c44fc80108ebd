# SPDX-License-Identifier: Apache-2.0
"""What kinds of values a body may read are made of, as far as comparing them goes.

Which modules are not looked into, which values never change, what a class hides. The walk itself
is in `walk`.
"""

from __future__ import annotations

import array
import collections
import functools
import logging
import operator
import pathlib
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

from pyptx import _core
from pyptx._kept import kept

#: Values of these are what they are.
SCALARS = (type(None), bool, int, str, bytes, type(Ellipsis), type(NotImplemented))
#: Builtin types that classes derive from and that never change, and how to get at what they hold.
FIXED_CONTENTS: dict[type, Any] = {
    int: int.__index__,
    float: float.hex,
    str: str.__str__,
    bytes: bytes.hex,
    tuple: lambda value: tuple(tuple.__iter__(value)),  # whatever a class says of it
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}
#: Containers that change, with or without a class of the author's around them.
CONTAINERS = (list, dict, set, collections.deque)
#: Bytes that change.
BUFFERS = (bytearray, memoryview, array.array)
#: What holds nothing but its items.
PLAIN = (*CONTAINERS, *BUFFERS)
CACHED_FUNCTION = type(functools.cache(len))
#: What a class may derive from without hiding anything: what these hold is asked for.
_OPEN_BASES = (
    object,
    *FIXED_CONTENTS,
    *PLAIN,
    collections.OrderedDict,
    collections.defaultdict,
    types.SimpleNamespace,
    functools.partial,
    CACHED_FUNCTION,
)
#: Compared by identity: they never change, or what they do is no kernel's business.
BY_IDENTITY = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.CodeType,
    types.GenericAlias,
    types.UnionType,
    re.Pattern,
    logging.Logger,
    operator.attrgetter,
    operator.itemgetter,
    operator.methodcaller,
    type(vars(collections.namedtuple("_", "field"))["field"]),
)
#: The same by module and name, of modules that need not be loaded.
_BY_NAME = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "torch": ("device", "dtype", "layout", "memory_format"),
}
#: Packages that a body may name and that lead to thousands of functions: half a minute of JAX.
_FRAMEWORKS = frozenset(("jax", "jaxlib", "numpy", "torch", "triton"))


def root_of(module: Any) -> str:
    """Return the package of a module's name; "" for what is no name: a class may define another."""
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_fixed_module(name: Any) -> bool:
    """Modules whose contents do not change under a kernel: ours, Python's and the frameworks'."""
    root = root_of(name)
    # What collections.namedtuple writes says that it is of such a module.
    if root == "pyptx" or root in _FRAMEWORKS or root.startswith("namedtuple_"):
        return True
    return root in sys.stdlib_module_names and root != "test"


def is_fixed_class(kind: type) -> bool:
    """Whether a class is of such a module, and not one that only says so, as types.new_class's."""
    if not is_fixed_module(kind.__module__):
        return False
    if not _core.is_python_class(kind):
        return True
    return hasattr(sys.modules.get(kind.__module__), kind.__qualname__.partition(".")[0])


@kept(1024)
def is_installed(root: str) -> bool:
    """Whether a package lies where packages are installed to."""
    spec = getattr(sys.modules.get(root), "__spec__", None)
    if spec is None:
        return False
    places = (spec.origin, *(spec.submodule_search_locations or ()))
    return any("site-packages" in str(place) or "dist-packages" in str(place) for place in places)


def module_of(value: Any) -> Any:
    """Return the module that a value belongs to."""
    return value.__name__ if isinstance(value, types.ModuleType) else type(value).__module__


def is_same_by_identity(value: Any) -> bool:
    """Whether one object of this kind is always the same value."""
    kind = type(value)
    if kind is object or isinstance(value, BY_IDENTITY) or root_of(kind.__module__) == "pyptx":
        return True
    if kind.__name__ in _BY_NAME.get(str(kind.__module__), ()):
        return True
    numpy, jax = sys.modules.get("numpy"), sys.modules.get("jax")
    if numpy is not None and isinstance(value, numpy.dtype):
        return True
    # A tracer is no array that can be told from another.
    is_jax = jax is not None and hasattr(jax, "Array") and isinstance(value, jax.Array)
    return is_jax and not isinstance(value, jax.core.Tracer)  # type: ignore[union-attr]


def is_path(value: Any) -> bool:
    """Whether this is a path: a text that remembers what was worked out of it."""
    return isinstance(value, pathlib.PurePath)


def is_array(kind: type) -> bool:
    """Whether values of this class are arrays or scalars of a framework."""
    return hasattr(kind, "dtype") and hasattr(kind, "shape")


def has_array_bytes(value: Any) -> bool:
    """Whether a framework's array or scalar is one whose elements can be seen from here."""
    numpy = sys.modules.get("numpy")
    is_plain = numpy and (type(value) is numpy.ndarray or isinstance(value, numpy.generic))
    return bool(is_plain and not value.dtype.hasobject)


def is_fixed_scalar(value: Any) -> bool:
    """Whether this is a NumPy scalar that cannot be written; a record can."""
    numpy = sys.modules["numpy"]
    return isinstance(value, numpy.generic) and not isinstance(value, numpy.void)


def special_methods(kind: type) -> Mapping[str, Any]:
    """Return what the language calls of a class's instances, or of itself, without naming it."""
    return {
        name: member
        for name, member in vars(kind).items()
        if name[:2] == name[-2:] == "__"
        and (callable(member) or isinstance(member, classmethod))
        and not isinstance(member, type)
        and not is_fixed_module(getattr(_unwrapped(member), "__module__", None))
    }


def _unwrapped(member: Any) -> Any:
    return member.__func__ if isinstance(member, (staticmethod, classmethod)) else member


def slots_of(kind: type) -> dict[str, Any]:
    """Return the slots of a class and its bases: names as stored, and their descriptors."""
    return {
        name: member
        for base in reversed(kind.__mro__)
        if _core.is_python_class(base)
        for name, member in vars(base).items()
        if type(member) is types.MemberDescriptorType
    }


def hides_state(kind: type) -> bool:
    """Whether a class written in C, which may keep anything anywhere, is among the bases."""
    return any(not _core.is_python_class(base) for base in kind.__mro__ if base not in _OPEN_BASES)
