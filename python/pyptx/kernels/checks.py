# SPDX-License-Identifier: Apache-2.0
"""What the library's functions refuse, each by a registered code, before anything is launched.

Types and shapes here; where arrays lie is checked in `calls`, once it is known what a kernel gets.
The errors are also the ones that Python has for such arguments: TypeError, ValueError.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from pyptx import _core
from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import is_read_by_dynamo
from pyptx._source import places
from pyptx.kernels.plans import MOST_COLUMNS

FLOATS = ("f32", "bf16", "f16")
INTEGERS = ("s64", "s32")
_NOT_CALLERS = ("pyptx", "torch", "jax")


def settled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let Dynamo run a function of constants while it traces, and show what that raises.

    What torch.compiler.assume_constant_result() does, while torch may not be loaded.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


@settled
def refuse(kind: str, *words: str, note: str = "") -> NoReturn:
    """Raise the error of a kind of the registry, at the line that called the library."""
    _core.refuse(kind, words, [note] if note else [], _place())
    raise AssertionError(kind)


def _place() -> tuple[str, int, int, int, int, str] | None:
    frame: Any = sys._getframe(2)
    while frame is not None and _package(frame) in _NOT_CALLERS:
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    line, end_line, column, end_column = list(code.co_positions())[max(frame.f_lasti, 0) // 2]
    line = frame.f_lineno if line is None else line
    if None in (column, end_column):
        column = end_column = -1
    span = (line, column, end_line or line, end_column)
    return places.place(code, span, False, "whole", 0)


def _package(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def settled_number(value: Any) -> Any:
    """Return a number as a plain one, where torch compiles for any: each value has its graph."""
    if not is_read_by_dynamo():
        return value
    from torch.fx.experimental.symbolic_shapes import guard_scalar

    return guard_scalar(value)


def are_numbers(*sizes: Any) -> bool:
    """Whether these are numbers, not what a graph is traced for any number of."""
    if not is_read_by_dynamo():
        return all(isinstance(size, int) for size in sizes)
    from torch.fx.experimental.symbolic_shapes import has_static_value

    return all(has_static_value(size) for size in sizes)


def listed(names: tuple[str, ...]) -> str:
    """Return "a, b or c"."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def shown(shape: Any) -> str:
    """Return a shape as a tuple of plain numbers."""
    return str(tuple([settled_number(size) for size in shape]))


# --- arrays ---------------------------------------------------------------------------------------


def is_array(function: str, name: str, value: Any) -> None:
    """Refuse what is no array."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        words = "an array of torch, JAX or NumPy", type(value).__name__
        refuse("ArgumentType", function, name, *words)


def has_type(function: str, name: str, array: Any, types: tuple[str, ...], note: str = "") -> None:
    """Refuse an array of other elements than these."""
    is_array(function, name, array)
    if ptx_name(array.dtype) not in types:
        wanted = f"an array of {listed(types)}"
        refuse("ArgumentType", function, name, wanted, _type_of(array), note=note)


def has_type_of(function: str, name: str, array: Any, other: str, like: Any) -> None:
    """Refuse an array whose elements are not those of the other one."""
    is_array(function, name, array)
    if ptx_name(array.dtype) != ptx_name(like.dtype):
        wanted = f"an array of {ptx_name(like.dtype)}, as {other} is"
        refuse("ArgumentType", function, name, wanted, _type_of(array))


def _type_of(array: Any) -> str:
    return f"one of {ptx_name(array.dtype)}"


def has_shape(function: str, name: str, array: Any, shape: tuple[Any, ...], what: str = "") -> None:
    """Refuse an array of another shape."""
    if tuple(array.shape) != shape:
        wanted = f"the shape {shown(shape)}{what and f', {what}'}"
        refuse("ArgumentShape", function, name, wanted, shown(array.shape))


def has_rows(function: str, name: str, array: Any, parts: int = 1) -> Any:
    """Refuse an array that no row kernel takes; return the columns of a part of its rows."""
    has_type(function, name, array, FLOATS)
    if len(array.shape) == 0:
        refuse("ArgumentShape", function, name, "a last dimension, its rows", "a single number")
    width = settled_number(array.shape[-1])
    if width % parts:
        wanted = f"rows of {parts} equal parts, a gate and what it scales"
        refuse("ArgumentShape", function, name, wanted, f"{width} columns")
    if not 1 <= width // parts <= MOST_COLUMNS:
        wanted = f"rows of 1 to {MOST_COLUMNS * parts} columns"
        note = "a row is held in the registers of at most 8 CTAs"
        refuse("ArgumentShape", function, name, wanted, str(width), note=note)
    return width // parts


# --- options --------------------------------------------------------------------------------------


@settled
def is_one_of(function: str, name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Refuse a word that is none of these."""
    if value not in known:
        refuse("ArgumentValue", function, name, listed(tuple(map(repr, known))), repr(value))


@settled
def is_epsilon(function: str, eps: Any) -> None:
    """Refuse what cannot be added to a mean of squares."""
    if not isinstance(eps, numbers.Real) or isinstance(eps, bool):
        refuse("ArgumentType", function, "eps", "a number", type(eps).__name__)
    if not 0 <= eps < math.inf:
        refuse("ArgumentValue", function, "eps", "0 or a small positive number", repr(eps))


@settled
def is_group(function: str, group: Any, columns: int) -> None:
    """Refuse groups of columns that do not fill rows."""
    if group is None:
        return
    if not isinstance(group, int) or isinstance(group, bool):
        refuse("ArgumentType", function, "group", "a number of columns", type(group).__name__)
    if group < 1 or columns % group:
        wanted = f"a number that divides the {columns} columns of a row"
        refuse("ArgumentValue", function, "group", wanted, repr(group))


def has_words(function: str, name: str, columns: int) -> None:
    """Refuse columns that are no whole words of fp8."""
    if columns % 4:
        wanted = "scales for a multiple of 4 columns"
        note = "fp8 is stored four elements at a time; pad the rows, or choose another group"
        refuse("ArgumentShape", function, name, wanted, f"{columns}", note=note)
