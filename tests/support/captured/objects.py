# SPDX-License-Identifier: Apache-2.0
"""Classes and objects that a kernel's body reads (see captured.py)."""

from __future__ import annotations

import dataclasses
import enum
import sys
import threading
import types
from typing import Any, NamedTuple

from support.captured.values import Case, case, putting, setting


@case
def class_attribute() -> Case:
    class Config:
        number = 1.0
        items = [1.0]  # noqa: RUF012

    return lambda: Config.number + Config.items[0], [
        *setting(Config, "number", 2.0),
        *putting(Config.items, 0, 5.0),
        *setting(Config, "items", [9.0]),
    ]


@case
def base_class() -> Case:
    class Base:
        number = 1.0

    class Other:
        number = 8.0

    class Middle(Base):
        pass

    class Config(Middle):
        pass

    return lambda: Config.number, [
        *setting(Base, "number", 2.0),
        *setting(Middle, "number", 3.0),
        lambda: delattr(Middle, "number"),
        *setting(Middle, "__bases__", (Other,)),
        *setting(Other, "number", 9.0),
    ]


@case
def metaclass() -> Case:
    class Meta(type):
        number = 1.0

        def __len__(cls) -> int:
            return 3

    class Config(metaclass=Meta):
        pass

    return lambda: Config.number + len(Config), [
        *setting(Meta, "number", 2.0),
        *setting(Meta, "__len__", lambda cls: 7),
        *setting(Config, "number", 5.0),
    ]


@case
def instance() -> Case:
    class Config:
        other = 4.0

        def __init__(self) -> None:
            self.number = 1.0

    class Another:
        other = 40.0

    config: Any = Config()
    return lambda: config.number + config.other, [
        *setting(config, "number", 2.0),
        *setting(config, "other", 5.0),
        lambda: delattr(config, "other"),
        *setting(Config, "other", 6.0),
        *setting(config, "__dict__", {"number": 7.0}),
        *setting(config, "__class__", Another),
    ]


@case
def instance_with_slots() -> Case:
    class Base:
        __slots__ = ("__hidden", "number")

        def __init__(self) -> None:
            self.number = 1.0
            self.__hidden = 2.0

        def hide(self, value: float) -> None:
            self.__hidden = value

        def total(self) -> float:
            return self.number + self.__hidden

    class Config(Base):
        __slots__ = ("extra",)

    config = Config()
    return lambda: config.total() + getattr(config, "extra", 0.0), [
        *setting(config, "number", 3.0),
        lambda: config.hide(5.0),
        *setting(config, "extra", 7.0),
        lambda: delattr(config, "extra"),
    ]


@case
def data_class() -> Case:
    @dataclasses.dataclass
    class Inner:
        tiles: list[float] = dataclasses.field(default_factory=lambda: [1.0])

    @dataclasses.dataclass
    class Config:
        number: float = 1.0
        inner: Inner = dataclasses.field(default_factory=Inner)

        @property
        def doubled(self) -> float:
            return self.number * 2

    config = Config()
    return lambda: config.doubled + config.inner.tiles[0], [
        *setting(config, "number", 2.0),
        *putting(config.inner.tiles, 0, 3.0),
        *setting(config, "inner", Inner([5.0])),
        *setting(Config, "doubled", property(lambda self: 100.0)),
    ]


@case
def frozen_data_class_with_slots() -> Case:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Config:
        number: float = 1.0
        items: list[float] = dataclasses.field(default_factory=lambda: [1.0])

    config = Config()
    return lambda: config.number + config.items[0], [
        lambda: object.__setattr__(config, "number", 2.0),
        *putting(config.items, 0, 5.0),
    ]


@case
def enumeration() -> Case:
    class Mode(enum.Enum):
        WIDE = [1.0]  # noqa: RUF012
        FLAT = (2.0,)

        @property
        def number(self) -> float:
            return float(self.value[0])

    mode: Any = Mode.WIDE

    def flatten() -> None:
        nonlocal mode
        mode = Mode.FLAT

    return lambda: mode.number, [
        *putting(Mode.WIDE.value, 0, 3.0),
        flatten,
        *setting(Mode, "number", property(lambda self: 9.0)),
    ]


@case
def named_tuple() -> Case:
    class Config(NamedTuple):
        number: float
        items: list[float]

        def total(self) -> float:
            return self.number + sum(self.items)

    config = Config(1.0, [2.0])

    def replace() -> None:
        nonlocal config
        config = config._replace(number=4.0)

    return lambda: config.total(), [
        *putting(config.items, 0, 3.0),
        replace,
        *setting(Config, "total", lambda self: 50.0),
    ]


@case
def object_that_is_called() -> Case:
    class Scaler:
        def __init__(self) -> None:
            self.factor = 1.0

        def __call__(self, value: float) -> float:
            return value * self.factor

        def __add__(self, value: float) -> float:
            return value + self.factor

    scaler = Scaler()
    return lambda: scaler(2.0) + (scaler + 1.0), [
        *setting(scaler, "factor", 3.0),
        *setting(Scaler, "__call__", lambda self, value: 10.0),
        *setting(Scaler, "__add__", lambda self, value: 20.0),
    ]


@case
def object_with_a_lock_that_is_not_read() -> Case:
    class Service:
        def __init__(self) -> None:
            self.number = 1.0
            self.lock = threading.Lock()
            self.stream = sys.stderr

    service = Service()
    return lambda: service.number, setting(service, "number", 2.0, 3.0)


@case
def class_made_at_run_time() -> Case:
    config: Any = types.new_class("Config", (), {}, lambda names: names.update(number=1.0))
    return lambda: config.number, setting(config, "number", 2.0, 3.0)


@case
def tuple_with_an_iterator_of_its_own() -> Case:
    class Items(tuple):  # type: ignore[type-arg]
        __slots__ = ()

        def __iter__(self) -> Any:
            return iter(())

    items = Items(([1.0],))
    return lambda: items[0][0], putting(items[0], 0, 2.0, 3.0)
