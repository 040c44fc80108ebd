# SPDX-License-Identifier: Apache-2.0
"""Functions, and values that never change, that a kernel's body reads (see captured.py)."""

from __future__ import annotations

import datetime
import decimal
import functools
import math
import pathlib
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from support.captured.values import Case, case, putting, setting

# --- functions ----------------------------------------------------------------------------------


@case
def helper_function() -> Case:
    def helper(value: float = 1.0, *, scale: float = 1.0) -> float:
        return value * scale + 0.0

    def other(value: float = 1.0, *, scale: float = 1.0) -> float:
        return value * scale + 100.0

    return lambda: helper(), [
        *setting(helper, "__defaults__", (2.0,)),
        *setting(helper, "__kwdefaults__", {"scale": 3.0}),
        lambda: helper.__kwdefaults__.update(scale=5.0),
        *setting(helper, "__code__", other.__code__),
    ]


@case
def replaced_helper() -> Case:
    def helper() -> float:
        return 1.0

    def rebind() -> None:
        nonlocal helper
        helper = lambda: 2.0  # noqa: E731

    def wrap() -> None:
        nonlocal helper
        inner = helper
        helper = functools.wraps(inner)(lambda: inner() + 5.0)

    return lambda: helper(), [rebind, wrap]


@case
def attribute_of_a_function() -> Case:
    def helper() -> float:
        return float(helper.number)  # type: ignore[attr-defined]

    helper.number = 1.0  # type: ignore[attr-defined]
    return lambda: helper(), setting(helper, "number", 2.0, 3.0)


@case
def closure_of_a_helper() -> Case:
    def make() -> Any:
        number = 1.0

        def get() -> float:
            return number

        def put(value: float) -> None:
            nonlocal number
            number = value

        return get, put

    get, put = make()
    return lambda: get(), [lambda: put(2.0), lambda: put(3.0)]


@case
def partial() -> Case:
    def helper(value: float, scale: float, extra: list[float]) -> float:
        return value * scale + extra[0]

    part: Any = functools.partial(helper, 1.0, scale=2.0, extra=[3.0])
    return lambda: part() + getattr(part, "more", 0.0), [
        *putting(part.keywords, "scale", 4.0),
        *putting(part.keywords["extra"], 0, 5.0),
        *setting(part, "more", 9.0),
        lambda: part.__setstate__((helper, (7.0,), dict(part.keywords), {})),
    ]


@case
def bound_method() -> Case:
    class Config:
        def __init__(self) -> None:
            self.number = 1.0

        def get(self) -> float:
            return self.number

    config = Config()
    get = config.get
    return lambda: get(), [
        *setting(config, "number", 2.0),
        *setting(Config.get, "__code__", (lambda self: self.number + 10.0).__code__),
    ]


@case
def static_and_class_methods() -> Case:
    class Config:
        number = 1.0

        @staticmethod
        def one() -> float:
            return 1.0

        @classmethod
        def two(cls) -> float:
            return cls.number

    return lambda: Config.one() + Config.two(), [
        *setting(Config, "number", 2.0),
        *setting(Config, "one", staticmethod(lambda: 5.0)),
        *setting(Config, "two", classmethod(lambda cls: 7.0)),
    ]


@case
def cached_function() -> Case:
    scale = [1.0]

    @functools.lru_cache(maxsize=0)
    def helper() -> float:
        return scale[0]

    return lambda: helper(), [
        *putting(scale, 0, 2.0),
        *setting(helper.__wrapped__, "__code__", (lambda: scale[0] + 9.0).__code__),
    ]


@case
def method_in_c() -> Case:
    table = {"a": 1.0}
    get = table.get
    other = {"a": 7.0}.get

    def rebind() -> None:
        nonlocal get
        get = other

    return lambda: get("a"), [*putting(table, "a", 2.0), rebind]


@case
def helper_that_poses_as_another() -> Case:
    scale = [1.0]

    @functools.wraps(math.sqrt)  # which says that it is of the module math
    def helper() -> float:
        return scale[0]

    return lambda: helper(), putting(scale, 0, 2.0, 3.0)


@case
def property_of_ones_own() -> Case:
    class Doubled(property):
        factor = 2.0

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return super().__get__(instance, owner) * self.factor

    class Config:
        number = Doubled(lambda self: 3.0)

    config = Config()
    return lambda: config.number, [
        *setting(Doubled, "factor", 5.0),
        *setting(Doubled, "__get__", lambda self, instance, owner=None: 9.0),
    ]


# --- values that never change -------------------------------------------------------------------


def _rebound(first: Any, second: Any, number: Callable[[Any], Any]) -> Case:
    value = first

    def rebind() -> None:
        nonlocal value
        value = second

    def back() -> None:
        nonlocal value
        value = first

    return lambda: number(value), [rebind, back]


@case
def decimal_and_fraction() -> Case:
    first, second = (decimal.Decimal(1), Fraction(1, 2)), (decimal.Decimal(2), Fraction(1, 4))
    return _rebound(first, second, lambda pair: float(pair[0]) + float(pair[1]))


@case
def dates_and_patterns() -> Case:
    first = (datetime.timedelta(seconds=1), re.compile("a"))
    second = (datetime.timedelta(seconds=2), re.compile("bc"))
    return _rebound(first, second, lambda pair: pair[0].seconds + len(pair[1].pattern))


@case
def ranges() -> Case:
    # Equal, as sequences are.
    return _rebound(range(0, 3, 2), range(0, 4, 2), lambda numbers: numbers.stop)


@case
def path() -> Case:
    return _rebound(pathlib.Path("a"), pathlib.Path("bcd"), lambda path: len(str(path)))


@case
def element_types() -> Case:
    return _rebound(np.dtype("f4"), np.dtype("f8"), lambda dtype: dtype.itemsize)


@case
def sentinel() -> Case:
    first, second = object(), object()
    return _rebound(first, second, lambda value: 1.0 if value is first else 2.0)
