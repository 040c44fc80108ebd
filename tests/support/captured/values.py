# SPDX-License-Identifier: Apache-2.0
"""Kinds of values that a kernel's body reads, each with ways to change what is read.

A case is a function that returns `read`, which gives a number, and the changes, each of which makes
`read` give another one. Names, containers and arrays are here; captured_objects.py and
captured_functions.py add theirs.
"""

from __future__ import annotations

import array
import collections
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

Case = tuple[Callable[[], Any], list[Callable[[], object]]]
CASES: dict[str, Callable[[], Case]] = {}

NUMBER: Any = 1.0
NUMBERS: Any = [1.0]


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Add a case under its function's name."""
    CASES[make.__name__] = make
    return make


def setting(holder: Any, name: str, *values: Any) -> list[Callable[[], object]]:
    """Return changes that set an attribute to each of these."""
    return [functools.partial(setattr, holder, name, value) for value in values]


def putting(holder: Any, key: Any, *values: Any) -> list[Callable[[], object]]:
    """Return changes that set an item to each of these."""
    return [functools.partial(holder.__setitem__, key, value) for value in values]


# --- names --------------------------------------------------------------------------------------


@case
def global_number() -> Case:
    globals()["NUMBER"] = 1.0
    return lambda: NUMBER, putting(globals(), "NUMBER", 2.0, 3)


@case
def global_list() -> Case:
    globals()["NUMBERS"] = [1.0]
    return (
        lambda: sum(NUMBERS),
        [lambda: NUMBERS.append(1.5), *putting(globals(), "NUMBERS", [4.0])],
    )


@case
def captured_number() -> Case:
    number = 1.0

    def rebind() -> None:
        nonlocal number
        number += 1.0

    return lambda: number, [rebind, rebind]


@case
def module_attribute() -> Case:
    module: Any = types.ModuleType("settings_of_a_case")
    module.number = 1.0
    read = lambda: getattr(module, "number", 7.0)  # noqa: E731
    return read, [*setting(module, "number", 2.0), lambda: delattr(module, "number")]


@case
def imported_module() -> Case:
    module: Any = types.ModuleType("module_of_a_case")
    module.number = 1.0
    sys.modules[module.__name__] = module
    other: Any = types.ModuleType("module_of_a_case")
    other.number = 5.0

    def read() -> Any:
        import module_of_a_case  # type: ignore[import-not-found]

        return module_of_a_case.number

    return read, [
        *setting(module, "number", 2.0),
        *putting(sys.modules, "module_of_a_case", other),
        *setting(other, "number", 6.0),
    ]


# --- containers ---------------------------------------------------------------------------------


@case
def list_of_numbers() -> Case:
    items = [1.0, 2.0]
    return lambda: items[0] + len(items), [
        *putting(items, 0, 5.0),
        lambda: items.append(0.0),
        items.reverse,
        items.clear.__self__.pop,
    ]


@case
def nested_lists() -> Case:
    items = [[1.0], ([2.0],)]
    return lambda: items[0][0] + items[1][0][0], [
        *putting(items[0], 0, 5.0),
        *putting(items[1][0], 0, 7.0),
        *putting(items, 1, ([11.0],)),
    ]


@case
def list_in_a_tuple() -> Case:
    pair = (1.0, [2.0])
    return lambda: pair[1][0], [*putting(pair[1], 0, 3.0), lambda: pair[1].insert(0, 9.0)]


@case
def subclass_of_list() -> Case:
    class Items(list):  # type: ignore[type-arg]
        scale = 1.0

    items = Items([1.0])
    return lambda: items[0] * items.scale, [
        *putting(items, 0, 2.0),
        *setting(items, "scale", 3.0),
        lambda: delattr(items, "scale"),
        *setting(Items, "scale", 5.0),
    ]


@case
def deque() -> Case:
    items = collections.deque([1.0, 2.0], maxlen=4)
    return lambda: items[0], [*putting(items, 0, 3.0), lambda: items.rotate(1), items.popleft]


@case
def dictionary() -> Case:
    items = {"a": 1.0, "b": 2.0}
    return lambda: items["a"] + 10 * list(items).index("a") + 100 * len(items), [
        *putting(items, "a", 3.0),
        lambda: items.update(a=items.pop("a")),  # the same items in another order
        *putting(items, "c", 1.0),
        lambda: items.pop("c"),
    ]


@case
def nested_dictionaries() -> Case:
    items = {"a": {"b": [1.0]}, 3: {"c": 2.0}}
    return lambda: items["a"]["b"][0] + items[3]["c"], [
        *putting(items["a"]["b"], 0, 4.0),
        *putting(items[3], "c", 5.0),
        *putting(items["a"], "b", [9.0]),
    ]


@case
def subclass_of_dict() -> Case:
    class Settings(dict):  # type: ignore[type-arg]
        def __getattr__(self, name: str) -> Any:
            return self[name]

    settings = Settings(number=1.0)
    return lambda: settings.number, [
        *putting(settings, "number", 2.0),
        *setting(Settings, "__getattr__", lambda self, name: -1.0),
    ]


@case
def ordered_dictionary() -> Case:
    items = collections.OrderedDict(a=1.0, b=2.0)
    return lambda: next(iter(items.values())), [
        lambda: items.move_to_end("a"),
        *putting(items, "b", 5.0),
    ]


@case
def default_dictionary() -> Case:
    items: Any = collections.defaultdict(None, a=1.0)

    def read() -> Any:
        factory = items.default_factory
        return items["a"] + (factory() if factory else 50.0)

    return read, [*putting(items, "a", 2.0), *setting(items, "default_factory", lambda: 4.0, None)]


@case
def counter_and_chain_map() -> Case:
    counts = collections.Counter(a=1)
    chain = collections.ChainMap({"x": 1.0}, {"y": 2.0})
    return lambda: counts["a"] + chain["x"] + chain["y"], [
        lambda: counts.update(a=3),
        *putting(chain, "x", 5.0),
        *putting(chain.maps[1], "y", 6.0),
    ]


@case
def user_containers() -> Case:
    mapping, items = collections.UserDict(a=1.0), collections.UserList([2.0])
    return lambda: mapping["a"] + items[0], [
        *putting(mapping, "a", 3.0),
        *putting(items, 0, 5.0),
    ]


@case
def set_of_numbers() -> Case:
    items: set[Any] = {1.0, 2.0}
    return lambda: sum(items) + 100 * sum(type(item) is bool for item in items), [
        lambda: items.add(4.0),
        lambda: items.discard(2.0),
        lambda: (items.discard(1.0), items.add(True)),  # equal to what was there
    ]


@case
def subclass_of_set() -> Case:
    class Numbers(set):  # type: ignore[type-arg]
        def total(self) -> float:
            return float(sum(self))

    items = Numbers({1.0})
    return lambda: items.total(), [
        lambda: items.add(2.0),
        *setting(Numbers, "total", lambda self: 9.0),
    ]


@case
def mapping_proxy() -> Case:
    items = {"a": 1.0}
    proxy = types.MappingProxyType(items)
    return lambda: proxy["a"], putting(items, "a", 2.0, 3.0)


@case
def simple_namespace() -> Case:
    namespace = types.SimpleNamespace(number=1.0, inner=types.SimpleNamespace(number=2.0))
    return lambda: namespace.number + namespace.inner.number, [
        *setting(namespace, "number", 3.0),
        *setting(namespace.inner, "number", 5.0),
    ]


# --- bytes and arrays ---------------------------------------------------------------------------


@case
def numpy_array() -> Case:
    table = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    return lambda: float(table.ravel()[0]) + table.ndim + table.itemsize, [
        lambda: table.__setitem__(0, 5.0),
        lambda: setattr(table, "shape", (2, 2)),
        lambda: table.fill(7.0),
        lambda: setattr(table, "dtype", np.int16),
    ]


@case
def part_of_a_numpy_array() -> Case:
    table = np.arange(16, dtype=np.int64).reshape(4, 4)
    part = table[::2, ::-1]
    return lambda: int(part.sum()), [
        lambda: part.__setitem__((0, 0), 50),
        lambda: table.__setitem__((2, 3), -9),
    ]


@case
def numpy_record() -> Case:
    records = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
    record = records[0]
    return lambda: float(record["a"]) + int(records["b"][1]), [
        lambda: record.__setitem__("a", 2.0),
        lambda: records["b"].__setitem__(1, 5),
    ]


@case
def byte_array() -> Case:
    data = bytearray(b"abc")
    return lambda: sum(data), [*putting(data, 0, 1), lambda: data.extend(b"d")]


@case
def array_of_numbers_and_its_view() -> Case:
    numbers = array.array("f", [1.0, 2.0])
    view = memoryview(bytearray(8))
    parts: Any = memoryview(bytearray(8)).cast("B")

    def cast() -> None:
        nonlocal parts
        parts = parts.cast("i")

    return lambda: numbers[0] + view[0] + len(parts), [
        *putting(numbers, 0, 5.0),
        *putting(view, 0, 3),
        cast,
    ]
