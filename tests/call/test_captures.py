# SPDX-License-Identifier: Apache-2.0
"""A kernel is traced again exactly when something that its body reads has changed."""

from __future__ import annotations

import collections
import copy
import dataclasses
import gc
import pickle
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, _core, ptx
from pyptx._captures.captures import Captures, freeze
from pyptx.types import u32
from support.packages import need
from support.reading_kernels import Base, check_changes, make

VALUE: Any = 1.0


class Derived(Base):
    pass


@dataclasses.dataclass
class Record:
    number: float = 1.0


class Slotted:
    __slots__ = "number"  # a string is allowed too

    def __init__(self) -> None:
        self.number = 1.0


class Mapping(dict):  # type: ignore[type-arg]
    pass


def reads_global() -> Any:
    return VALUE


def passes_on(holder: Any) -> Any:
    return holder.NUMBER


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
def test_a_global(arrays: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "VALUE", 1.0)
    check_changes(reads_global, lambda: globals().update(VALUE=2.0), arrays)


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
def test_a_captured_variable_and_mutable_ones(arrays: str) -> None:
    number = 1.0
    listed = [1.0]
    array = np.ones(1, np.float32)
    record, slotted, mapping = Record(), Slotted(), Mapping(a=1.0)
    ordered = collections.OrderedDict(a=1.0)

    def rebind() -> None:
        nonlocal number
        number = 2.0

    check_changes(lambda: number, rebind, arrays)
    check_changes(lambda: listed[0], lambda: listed.append(listed.pop() + 1), arrays)
    check_changes(lambda: array[0], lambda: array.__setitem__(0, 5), arrays)
    check_changes(lambda: record.number, lambda: setattr(record, "number", 2.0), arrays)
    check_changes(lambda: slotted.number, lambda: setattr(slotted, "number", 2.0), arrays)
    check_changes(lambda: mapping["a"], lambda: mapping.update(a=2.0), arrays)
    check_changes(lambda: ordered["a"], lambda: ordered.update(a=2.0), arrays)
    assert not Captures(lambda: (ordered, mapping, record)).is_opaque


def test_a_captured_tensor() -> None:
    torch = need("torch")
    tensor = torch.ones(1)
    check_changes(lambda: tensor[0], lambda: tensor.fill_(3.0))


def test_an_attribute_of_a_base_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Base, "NUMBER", 1.0)
    check_changes(lambda: Derived.NUMBER, lambda: monkeypatch.setattr(Base, "NUMBER", 2.0))
    instance = Derived()
    check_changes(lambda: instance.doubled, lambda: monkeypatch.setattr(Base, "NUMBER", 3.0))


def test_an_attribute_that_another_function_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Base, "NUMBER", 1.0)
    check_changes(lambda: passes_on(Derived), lambda: monkeypatch.setattr(Base, "NUMBER", 2.0))


def test_a_module_imported_in_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("settings_of_a_kernel")
    module.NUMBER = 1.0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def read() -> Any:
        from settings_of_a_kernel import NUMBER  # type: ignore[import-not-found]

        return NUMBER

    check_changes(read, lambda: setattr(module, "NUMBER", 2.0))


def test_an_object_at_the_address_of_a_freed_one() -> None:
    # Compared by identity, and made and dropped in turn: CPython gives them the same memory.
    def key_of(value: Any) -> Any:
        return Captures(lambda: value).key

    def a_type() -> type:
        return type("T", (), {})

    def frozen(value: Any) -> Any:
        return freeze({"T": value})[0]

    for remember in (key_of, frozen):
        keys = [remember(a_type()) for _ in range(20) if gc.collect() is not None]
        assert len(set(keys)) == len(keys)


def test_the_dict_of_template_values_is_not_watched() -> None:
    """It is made for the question; what is in it is watched where it can change."""
    watched = [freeze(values)[1] for values in ({}, {"a": 1}, {"a": [1]})]
    assert [None if guards is None else len(guards) for guards in watched] == [0, 0, 1]


def test_what_need_not_be_traced_again() -> None:
    torch = need("torch")
    config = collections.namedtuple("config", "number")(3.0)
    x = torch.zeros(1)
    held: dict[str, Any] = {"number": 1000.5}

    def read() -> Any:
        return config.number + Base().doubled + held["number"]

    k = make(read)
    result = k(x)
    for _ in range(3):
        held["number"] = float("1000.5")  # an equal value in another object
        assert k(x) == result
    assert k._live.entry.hits == 3


def test_equal_values_in_new_objects_are_watched_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = need("torch")
    monkeypatch.setattr(sys.modules[__name__], "VALUE", 1000.5)
    k = make(reads_global)
    x = torch.zeros(1)
    k(x)
    first = k._live
    monkeypatch.setattr(sys.modules[__name__], "VALUE", float("1000.5"))
    assert not first.captures.holds()
    k(x)
    assert k._live is first
    assert first.captures.holds()
    hits = first.entry.hits
    k(torch.zeros(1))
    assert first.entry.hits == hits + 1


def test_guards() -> None:
    names = {"a": VALUE}

    def function(x: int = 1, *, y: int = 2) -> Any:
        return names

    guards = Captures(function).guards
    assert guards.hold()
    names["b"] = None
    assert not guards.hold()
    del names["b"]
    assert guards.hold()
    function.__defaults__ = (3,)
    assert not guards.hold()
    with pytest.raises(TypeError, match="Guards object"):
        _core.Entry(print).watch(None, print)


def test_guards_are_collected_with_what_they_watch() -> None:
    class Thing:
        pass

    thing = Thing()
    names: dict[str, Any] = {"thing": thing}
    names["guards"] = _core.Guards([("item", names, "thing", thing)])
    gone = weakref.ref(thing)
    del thing, names
    gc.collect()
    assert gone() is None


def test_a_kernel_is_collected() -> None:
    k = make(lambda: 1.0)
    k(np.zeros(1, np.float32))
    gone = weakref.ref(k)
    del k
    gc.collect()
    assert gone() is None


GLOBAL_KERNEL = make(lambda: 7.0)
GLOBAL_KERNEL.__module__, GLOBAL_KERNEL.__qualname__ = __name__, "GLOBAL_KERNEL"


def test_kernels_are_copied_and_pickled_as_functions_are() -> None:
    k = GLOBAL_KERNEL
    assert copy.copy(k) is k
    assert copy.deepcopy({"k": k})["k"] is k
    assert pickle.loads(pickle.dumps(k)) is k
    local = make(lambda: 1.0)
    assert copy.deepcopy([local])[0] is copy.copy(local) is local
    with pytest.raises(
        TypeError, match=r"made inside a function; make it at module level.*k\.bind"
    ):
        pickle.dumps(local)
    local.__qualname__ = "ANOTHER_KERNEL"
    with pytest.raises(TypeError, match=r"as .*ANOTHER_KERNEL, and it is not there"):
        pickle.dumps(local)


def test_the_call_in_python_and_the_call_in_c_agree() -> None:
    k = make(lambda: 7.0)
    x = np.zeros(1, np.float32)
    assert k(x) == k.__call__(x) == type(k).__call__(k, x) == 7.0

    class Mine(type(k)):  # type: ignore[misc]
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return ("mine", super().__call__(*args, **kwargs))

    def body(X, Y):
        ptx.ret()

    mine = Mine(body, in_specs=(Tile(1, u32),), out_specs=(Tile(1, u32),), block=(1, 1, 1))
    assert mine(np.zeros(1, np.uint32))[0] == "mine"
    with pytest.raises(TypeError, match="not been initialised"):
        type(k).__new__(type(k))(x)
    with pytest.raises(TypeError, match="subclass of KernelBase"):
        _core.call_through_entry(int)


def test_changes_while_other_threads_call(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = need("torch")
    monkeypatch.setattr(sys.modules[__name__], "VALUE", 0.0)
    k = make(reads_global)
    wrong: list[float] = []
    stop = threading.Event()

    def call() -> None:
        x = torch.zeros(1)
        while not stop.is_set():
            low = VALUE
            got = float(k(x)[0])
            if not low <= got <= VALUE:
                wrong.append(got)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(40):
        monkeypatch.setattr(sys.modules[__name__], "VALUE", float(number))
        stop.wait(0.005)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
