# SPDX-License-Identifier: Apache-2.0
"""The configurations of a space, and the names in it against those that the kernel has."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyptx._tune.errors import fail, wrong_argument
from pyptx._tune.result import shown
from pyptx.kernel import Kernel


@dataclass(frozen=True, eq=False)
class Configuration:
    """One point of a space: values by name, or an object of the author's."""

    value: Any

    def give(self, function: Callable[..., Any]) -> Any:
        """Call a function of the author's with it: values by keyword, an object as it is."""
        if isinstance(self.value, dict):
            return function(**self.value)
        return function(self.value)

    def __str__(self) -> str:
        return shown(self.value)


def name_of(kernel: Any) -> str:
    """Return what a kernel, or a function that builds one, is called."""
    while hasattr(kernel, "func"):  # functools.partial
        kernel = kernel.func
    return str(getattr(kernel, "__name__", None) or type(kernel).__name__)


def check_kernel(kernel: Any) -> None:
    """Refuse what is neither a kernel nor a function."""
    if not callable(kernel) or isinstance(kernel, type):
        wrong_argument("kernel", "a pyptx kernel, or a function of a configuration", repr(kernel))


def configurations(
    kernel: Any, space: Any, where: Callable[..., Any] | None
) -> list[Configuration]:
    """Return the configurations of a space that a condition allows, in order."""
    values = _points(space)
    if isinstance(kernel, Kernel):
        for value in values:
            if not isinstance(value, dict):
                wrong_argument(
                    "a configuration of a kernel", "a dict of template values by name", repr(value)
                )
    _check_names(kernel, values)
    found = [Configuration(value) for value in values]
    if where is not None:
        if not callable(where):
            wrong_argument("where", "a function of a configuration", repr(where))
        found = [configuration for configuration in found if configuration.give(where)]
        if not found:
            fail("PTX0831", f"where refuses all {len(values)} configurations")
    return found


def _points(space: Any) -> list[Any]:
    """Return what configurations consist of: dicts, or objects."""
    if isinstance(space, Mapping):
        return _product(space)
    if isinstance(space, (str, bytes)) or not isinstance(space, Iterable):
        wrong_argument(
            "space", "a dict of values by name, or a list of configurations", repr(space)
        )
    points = [dict(point) if isinstance(point, Mapping) else point for point in space]
    if not points:
        fail("PTX0831", "the space is empty")
    return points


def _product(space: Mapping[Any, Any]) -> list[dict[str, Any]]:
    if not space:
        fail("PTX0831", "the space has no names")
    choices: dict[str, tuple[Any, ...]] = {}
    for name, values in space.items():
        if not isinstance(name, str):
            wrong_argument("a name of the space", "a str", repr(name))
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            wrong_argument(f"the values of {name!r}", "a list", repr(values))
        choices[name] = tuple(values)
        if not choices[name]:
            fail("PTX0831", f"{name!r} has no values")
    return [
        dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())
    ]


def _check_names(kernel: Any, values: list[Any]) -> None:
    known = _parameters(kernel)
    if known is None:
        return
    for value in values:
        for name in value if isinstance(value, dict) else ():
            if name not in known:
                notes = [f"it has {', '.join(known) or 'none'}"]
                near = difflib.get_close_matches(str(name), known, 1)
                notes += [f"did you mean {near[0]!r}?"] if near else []
                fail("PTX0832", name_of(kernel), name, notes=notes)


def _parameters(kernel: Any) -> list[str] | None:
    """Return what may be tuned by name; None where that cannot be told, or anything may."""
    if isinstance(kernel, Kernel):
        return list(kernel.template_params)
    try:
        parameters = inspect.signature(kernel).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return [each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY]


def expected_costs(
    points: list[Configuration], cost: Callable[..., Any] | None
) -> list[float | None]:
    """Return what a model of the author's expects of each configuration."""
    if cost is None:
        return [None] * len(points)
    if not callable(cost):
        wrong_argument("cost", "a function of a configuration", repr(cost))
    found: list[float | None] = []
    for point in points:
        value = point.give(cost)
        if isinstance(value, bool) or not hasattr(value, "__float__") or math.isnan(float(value)):
            wrong_argument(f"the cost of {point}", "a number", repr(value))
        found.append(float(value))
    return found
