# SPDX-License-Identifier: Apache-2.0
"""Inputs by name: plain ones, and those that kernels get wrong.

Arrays are NumPy's, with ml_dtypes where NumPy has no such type. A name is about floats; integers
that it says nothing of are small numbers, so that an index stays an index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyptx._call.element_types import framework_name, stored_name
from pyptx._call.refusals import refuse

Shape = tuple[int, ...]


def numpy_type(name: str) -> np.dtype[Any]:
    """Return the NumPy type of elements that we call `name`."""
    framework = framework_name(stored_name(name))
    if framework is None:
        refuse("FrameworkElements", f"no array has elements of type {name}", "give the arrays")
    if hasattr(np, framework):
        return np.dtype(getattr(np, framework))
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        needed = f"NumPy arrays of {framework} need the package ml_dtypes"
        refuse("FrameworkElements", needed, "pip install ml_dtypes")
    return np.dtype(getattr(ml_dtypes, framework))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether elements are floating-point numbers, those of ml_dtypes too."""
    return dtype.kind not in "biu"


def limits(dtype: np.dtype[Any]) -> tuple[float, float, float]:
    """Return the largest finite number, the smallest normal and the smallest of a float type."""
    found: Any
    try:
        found = np.finfo(dtype)
    except ValueError:
        import ml_dtypes

        found = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(found.max), float(found.smallest_normal), float(found.smallest_subnormal)


class Maker:
    """Makes an array of one type and shape from a name."""

    def __init__(self, random: np.random.Generator, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.random = random
        self.shape = shape
        self.dtype = dtype
        self.quarter = 0
        if is_float(dtype):
            self.largest, self.normal_least, self.least = limits(dtype)
            # A quarter of the exponents: squares and long sums of such numbers are finite.
            self.quarter = int(np.log2(self.largest) // 4)

    def normal(self) -> Any:
        """Gaussian; integers from -100 to 100, or 0 to 200 without a sign."""
        return self.random.standard_normal(self.shape)

    def zeros(self) -> Any:
        """Nothing but 0."""
        return np.zeros(self.shape)

    def signed_zeros(self) -> Any:
        """0 and -0."""
        return np.copysign(np.zeros(self.shape), self.normal())

    def ones(self) -> Any:
        """Nothing but 1."""
        return np.ones(self.shape)

    def equal(self) -> Any:
        """One number everywhere: ties."""
        return np.full(self.shape, self.random.integers(1, 100))

    def ascending(self) -> Any:
        """Numbers that do not fall."""
        return np.sort(self.normal(), axis=None).reshape(self.shape)

    def descending(self) -> Any:
        """Numbers that do not rise."""
        return -np.sort(self.normal(), axis=None).reshape(self.shape)

    def large(self) -> Any:
        """Large numbers whose squares and sums are still finite."""
        return np.ldexp(self.normal(), self.quarter)

    def extreme(self) -> Any:
        """Up to the largest finite number, of both signs."""
        return self.random.uniform(-1, 1, self.shape) * self.largest

    def tiny(self) -> Any:
        """Small numbers whose squares are still normal."""
        return np.ldexp(self.normal(), -self.quarter)

    def subnormal(self) -> Any:
        """Numbers below the smallest normal one."""
        return self.random.uniform(-1, 1, self.shape) * (self.normal_least - self.least)

    def mixed(self) -> Any:
        """Large and tiny numbers beside each other."""
        exponents = self.random.integers(-self.quarter, self.quarter + 1, self.shape)
        return np.ldexp(self.normal(), exponents.astype(int))

    def infinities(self) -> Any:
        """Gaussian, a sixteenth of them infinite, the last one always."""
        return self._sprinkled(np.copysign(np.inf, self.normal()))

    def nans(self) -> Any:
        """Gaussian, a sixteenth of them NaN, the last one always."""
        return self._sprinkled(np.full(self.shape, np.nan))

    def _sprinkled(self, special: Any) -> Any:
        where = self.random.random(self.shape) < 1 / 16
        where.flat[-1:] = True
        return np.where(where, special, self.normal())

    def small_integers(self) -> Any:
        """Return what integers are where the name says nothing of them."""
        low = 0 if self.dtype.kind in "bu" else -100
        return self.random.integers(low, low + 201, self.shape)

    def large_integers(self) -> Any:
        """From the smallest to the largest, both of them there where two have room."""
        info = np.iinfo(self.dtype)
        found = self.random.integers(info.min, info.max, self.shape, self.dtype, endpoint=True)
        found.flat[:1], found.flat[-1:] = info.min, info.max
        return found


_NAMES: tuple[Callable[[Maker], Any], ...] = (
    Maker.normal,
    Maker.zeros,
    Maker.signed_zeros,
    Maker.ones,
    Maker.equal,
    Maker.ascending,
    Maker.descending,
    Maker.large,
    Maker.extreme,
    Maker.tiny,
    Maker.subnormal,
    Maker.mixed,
    Maker.infinities,
    Maker.nans,
)
PLAIN = _NAMES[0].__name__  # what inputs are where nothing is said
NAMES = {function.__name__.replace("_", " "): function for function in _NAMES}
_SAME_FOR_INTEGERS = {"zeros", "ones", "equal"}


def named(name: str, random: np.random.Generator, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Return the array of a name."""
    maker = Maker(random, shape, dtype)
    if is_float(dtype):
        with np.errstate(over="ignore"):
            return NAMES[name](maker).astype(dtype)
    if dtype.kind == "b":
        return maker.small_integers() % 2 == 1
    if name in _SAME_FOR_INTEGERS:
        return NAMES[name](maker).astype(dtype)
    if name in ("large", "extreme"):
        return maker.large_integers()
    found = maker.small_integers()
    if name in ("ascending", "descending"):
        found = np.sort(found, axis=None).reshape(shape)
        found = found[::-1] if name == "descending" and found.ndim == 1 else found
    return found.clip(np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def cast(value: Any, dtype: np.dtype[Any], shape: Shape) -> Any:
    """Return what an author's function or number gave as an array of the type and shape."""
    array = np.asarray(value)
    if array.dtype == dtype:
        return np.broadcast_to(array, shape).copy()
    with np.errstate(over="ignore", invalid="ignore"):
        return np.broadcast_to(array, shape).astype(dtype)


def exact(array: Any) -> Any:
    """Return floats in float64, as which each of them is exact; integers as they are."""
    return array.astype(np.float64) if is_float(array.dtype) else array
