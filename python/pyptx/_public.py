# SPDX-License-Identifier: Apache-2.0
"""The border of the package: what leaves a public function when it fails.

Frames of the package go out of the traceback (see _traceback). A call that succeeds pays for one
more frame.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from pyptx._traceback import is_ours, shorten

_SEALED = "_is_border"
#: What the functions are called that kernel(...) and intrinsic(...) give.
_DECORATOR = "decorate"


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a border."""

    @functools.wraps(function)
    def border(*args: Any, **kwargs: Any) -> Any:
        try:
            made = function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise  # adds no frame, as raising it anew would
        is_decorator = isinstance(made, FunctionType) and made.__name__ == _DECORATOR
        return public(made) if is_decorator and is_ours(made.__code__) else made

    setattr(border, _SEALED, True)
    return border


def seal(namespace: dict[str, Any], names: Iterable[str] = ()) -> None:
    """Make borders of a module's public functions, and of the methods of its public classes."""
    module = namespace["__name__"]
    public_names = [name for name in namespace if not name.startswith("_")]
    for name in names or namespace.get("__all__") or public_names:
        found = namespace.get(name)
        if getattr(found, "__module__", None) != module:
            continue
        if isinstance(found, FunctionType):
            namespace[name] = _sealed(found)
        elif isinstance(found, type) and not issubclass(found, BaseException):
            _seal_class(found)


def _seal_class(cls: type) -> None:
    for name, member in list(vars(cls).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, FunctionType):
            setattr(cls, name, _sealed(member))
        elif isinstance(member, (classmethod, staticmethod)):
            setattr(cls, name, type(member)(_sealed(member.__func__)))


def _sealed(function: Any) -> Any:
    is_lazy = inspect.isgeneratorfunction(inspect.unwrap(function))
    return function if is_lazy or hasattr(function, _SEALED) else public(function)
