# SPDX-License-Identifier: Apache-2.0
"""Whatever a body reads, calls go through C alone until it changes, and then run what it says."""

from __future__ import annotations

import collections
import functools
import gc
import importlib
import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyptx import CaptureWarning, LaunchError, Layout, Tile, _core, kernel, ptx, reg
from pyptx._captures.captures import Captures, freeze
from pyptx._captures.walk import MOST_BYTES
from pyptx.types import f32, u32
from support.captured import functions, objects  # noqa: F401
from support.captured.values import CASES
from support.packages import need
from support.reading_kernels import make
from support.tree import ROOT


def test_there_are_many_kinds() -> None:
    assert len(CASES) >= 30
    assert all(len(build()[1]) >= 2 for build in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_guards_tell_each_change(name: str) -> None:
    # Without any framework: what the C entry asks before a call.
    read, changes = CASES[name]()
    captures = Captures(read)
    assert not captures.is_opaque
    assert captures.holds()
    for change in changes:
        change()
        assert not captures.holds()
        captures = Captures(read)
        assert captures.holds()


@pytest.mark.parametrize("name", CASES)
def test_the_new_value_is_what_runs(name: str) -> None:
    read, changes = CASES[name]()
    k = make(read)
    x = np.zeros(1, np.float32)
    assert float(k(x)[0]) == float(read())
    for change in changes:
        before = float(read())
        change()
        assert float(read()) != before
        assert float(k(x)[0]) == float(read())


def slow_calls(k: Any) -> int:
    """How many calls of the kernel's entry have asked Python for anything."""
    return int(k._live.entry.misses + k._live.entry.stale_calls)


@pytest.mark.parametrize("name", CASES)
def test_calls_after_the_first_stay_in_c(name: str) -> None:
    torch = need("torch")
    read, changes = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptureWarning)
        k = make(read)
        x, out = torch.zeros(1), torch.zeros(1)
        for change in (lambda: None, *changes):
            change()
            assert float(k(x)) == float(read())
            k(x, out=out)  # a call with out= may be learnt by itself
            before = slow_calls(k), k._live
            for _ in range(3):
                assert float(k(x)) == float(read())
                assert float(k(x, out=out)) == float(read())
            assert (slow_calls(k), k._live) == before


def example_subjects(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the kernels of the examples with tensors to call them on, as the launch bench does."""
    torch = need("torch")
    monkeypatch.syspath_prepend(ROOT / "bench")
    arms = importlib.import_module("arms")
    examples = importlib.import_module("arms_examples")
    return examples.subjects(arms.Machine(torch, on_gpu=False))  # type: ignore[no-any-return]


def test_calls_of_every_example_stay_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    subjects = example_subjects(monkeypatch)
    builders = {
        name
        for file in (ROOT / "examples").rglob("*.py")
        for name in re.findall(r"^def build_(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {name.partition(",")[0] for name in subjects} >= builders
    for name, subject in subjects.items():
        case, out = subject.case, subject.out_of(subject.outputs)
        k = case.kernel
        before = slow_calls(k), k._live.entry.hits
        for _ in range(3):
            case.check(k(*case.inputs, **case.keywords), name)
            k(*case.inputs, out=out, **case.keywords)
        assert (slow_calls(k), k._live.entry.hits - 6) == before, name
        assert k._live.captures.holds(), name


def test_template_values_and_scalars_stay_in_c() -> None:
    torch = need("torch")

    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        grid=lambda n: (n, 1, 1),
        block=(1, 1, 1),
        raw_params=[("f32", "alpha"), ("u32", "n")],
    )
    def write(X, Y, *, factors, offset=0.0, shape=(1, 2.0, "a")):
        (py,) = ptx.global_ptrs(Y)
        at = py + reg.from_(ptx.special.ctaid.x(), u32) * 4
        value = ptx.param(f32, "alpha")
        ptx.inst.fma.rn.f32(value, value, factors[0], offset)
        ptx.inst.st.global_.f32(ptx.addr(at), value)
        ptx.ret()

    x, factors = torch.zeros(4), [2.0]
    call = functools.partial(write, x, factors=factors)
    assert call(alpha=1.0, n=4).tolist() == [2.0] * 4
    assert call(alpha=1.0, n=4, offset=0.5).tolist() == [2.5] * 4
    before = slow_calls(write)
    out = torch.zeros(4)
    for step, alpha in enumerate((1.5, 2, np.float32(2.5), np.float64(3.5), True)):
        out.zero_()
        n = step % 4 + 1
        write(x, n=n, out=out, factors=factors, alpha=alpha)
        assert out.tolist() == [2.0 * float(alpha)] * n + [0.0] * (4 - n)
        assert call(alpha=alpha, n=4, offset=0.5).tolist() == [2.0 * float(alpha) + 0.5] * 4
    assert slow_calls(write) == before
    for number in (2.0, 2.0, 3.0, 3.0, 2.0):  # a tuple that each call makes anew
        call(alpha=1.0, n=4, shape=(1, number, "a"))
    assert slow_calls(write) == before + 2
    factors[0] = 3.0  # the same list: what it holds is watched
    assert call(alpha=1.0, n=4).tolist() == [3.0] * 4
    for alpha, error in ((1e39, LaunchError), ("1", None), (None, LaunchError)):
        if error is None:
            assert call(alpha=alpha, n=4).tolist() == [3.0] * 4  # as float() takes it
        else:
            with pytest.raises(error, match="alpha"):
                call(alpha=alpha, n=4)
    with pytest.raises(LaunchError, match="asks for 'n', which this call has not"):
        call(alpha=1.0)
    with pytest.raises(LaunchError, match="launches nothing"):
        call(alpha=1.0, n=0)


def test_what_a_dropped_specialisation_runs_may_call_the_kernel() -> None:
    torch = need("torch")

    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), block=(1, 1, 1))
    def write(X, Y, *, items):
        (py,) = ptx.global_ptrs(Y)
        number = 1.0 if isinstance(items[0], Last) else items[0]
        ptx.inst.st.global_.f32(ptx.addr(py), reg.scalar(f32, init=number))
        ptx.ret()

    class Last:
        def __del__(self) -> None:
            seen.append(float(write(x, items=items)))

    seen: list[float] = []
    x, items = torch.zeros(1), [Last()]
    for _ in range(3):
        assert float(write(x, items=items)) == 1.0
    items[0] = 5.0  # type: ignore[call-overload]
    for _ in range(3):
        assert float(write(x, items=items)) == 5.0
    gc.collect()
    write.specializer._traces.clear()
    gc.collect()
    assert set(seen) <= {5.0}


def test_values_that_pose_as_others_and_deep_ones() -> None:
    class Proxy:
        @property
        def __class__(self) -> Any:
            return type(lambda: None)

        def __call__(self) -> float:
            return 3.0

    class Odd:
        def __repr__(self) -> str:
            raise ValueError("not to be shown")

        def __hash__(self) -> int:
            return 1

    proxy, table = Proxy(), {Odd(): 2.0}
    assert make(lambda: proxy() + len(table))(np.zeros(1, np.float32)) == 4.0
    deep: Any = 1.0
    for _ in range(5000):
        deep = [deep]
    assert freeze({"deep": deep}) == (None, None)


def test_kernels_that_write_their_inputs_and_column_major_ones_stay_in_c() -> None:
    torch = need("torch")

    @kernel(in_specs=(Tile(4, f32),), grid=(4, 1, 1), block=(1, 1, 1))
    def double(X):
        (px,) = ptx.global_ptrs(X)
        at = ptx.addr(px + reg.from_(ptx.special.ctaid.x(), u32) * 4)
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, at)
        ptx.inst.add.f32(value, value, value)
        ptx.inst.st.global_.f32(at, value)
        ptx.ret()

    x = torch.ones(4)
    assert double(x) is None
    before, version = slow_calls(double), x._version
    for _ in range(3):
        double(x)
    assert x.tolist() == [16.0] * 4
    assert x._version == version + 3
    assert slow_calls(double) == before

    column = {"layout": Layout.COL}

    @kernel(
        in_specs=(Tile(2, 3, f32, **column),),
        out_specs=(Tile(2, 3, f32, **column),),
        grid=(6, 1, 1),
        block=(1, 1, 1),
    )
    def copy(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        place = reg.from_(ptx.special.ctaid.x(), u32) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
        ptx.inst.st.global_.f32(ptx.addr(py + place), value)
        ptx.ret()

    y = torch.arange(6.0).reshape(3, 2).t()
    assert torch.equal(copy(y), y)
    before = slow_calls(copy)
    result = copy(y)
    assert torch.equal(result, y)
    assert result.stride() == y.stride() == (1, 2)
    assert slow_calls(copy) == before
    with pytest.raises(LaunchError, match="column-major"):
        copy(y.contiguous())


class Settings:
    def __init__(self) -> None:
        self.number = 0.0
        self.other = 0.0


def test_an_attribute_that_is_stored_in_a_hot_loop() -> None:
    # The interpreter rewrites code that runs often: stores then take other ways.
    settings = Settings()
    captures = Captures(lambda: settings.number)
    for count in range(3000):
        settings.number = float(count + 1)
        assert not captures.holds()
        captures = captures.again()
        assert captures.holds()


def test_a_store_of_the_same_object_is_no_change() -> None:
    settings = Settings()
    held = {"a": settings}
    captures = Captures(lambda: (settings.number, held["a"]))
    number = settings.number
    for _ in range(100):
        settings.number = number
        held["a"] = settings
        held["b"] = settings
        del held["b"]
        assert captures.holds()


def test_a_large_array_is_compared_by_content_and_told() -> None:
    table = np.ones(MOST_BYTES // 4 + 1, np.float32)
    captures = Captures(lambda: table[0])
    assert not captures.is_opaque
    assert not captures.holds()
    assert captures.is_current()
    table[-1] = 2.0
    assert not captures.is_current()
    k = make(lambda: table[0])
    with pytest.warns(CaptureWarning, match=r"reads table \(numpy.ndarray\).*tuple or in bytes"):
        assert k(np.zeros(1, np.float32)) == 1.0
    table[0] = 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert k(np.zeros(1, np.float32)) == 3.0
    small = np.ones(MOST_BYTES // 4, np.float32)
    assert Captures(lambda: small[0]).holds()


def test_what_cannot_be_compared_is_told_at_the_line_that_reads_it() -> None:
    counter = itertools.count(1)
    settings = Settings()
    settings.other = {"deep": [0, counter]}  # type: ignore[assignment]

    def read() -> Any:
        number = 1.0
        return number + next(settings.other["deep"][1])  # type: ignore[index]

    k = make(read)
    with pytest.warns(CaptureWarning) as told:
        assert k(np.zeros(1, np.float32)) == 2.0
    [warning] = told
    assert "kernel 'write' reads settings.other['deep'][1] (itertools.count)" in str(
        warning.message
    )
    assert "traced at every call" in str(warning.message)
    assert warning.filename == __file__
    assert warning.lineno == read.__code__.co_firstlineno + 2
    assert k(np.zeros(1, np.float32)) == 3.0


def test_a_template_value_that_cannot_be_watched_is_told() -> None:
    torch = need("torch")

    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), block=(1, 1, 1))
    def write(X, Y, *, table):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f32(ptx.addr(py), reg.scalar(f32, init=float(table[0])))
        ptx.ret()

    with pytest.warns(CaptureWarning, match=r"'write' reads table \(torch.Tensor\)") as told:
        assert float(write(torch.zeros(1), table=torch.ones(1))) == 1.0
    assert told[0].lineno == write.signature.fn.__code__.co_firstlineno + 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptureWarning)  # told once
        assert float(write(torch.zeros(1), table=torch.full((1,), 4.0))) == 4.0


def test_a_change_during_the_trace_is_not_learnt() -> None:
    torch = need("torch")
    settings = Settings()

    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), grid=(1, 1, 1), block=(1, 1, 1))
    def write(X, Y):
        settings.number += 1.0
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f32(ptx.addr(py), reg.scalar(f32, init=settings.number))
        ptx.ret()

    for number in range(1, 4):
        assert float(write(torch.zeros(1))) == number


def test_rows() -> None:
    class Slotted:
        __slots__ = ("a",)

    thing, holder = Slotted(), Settings()
    names: dict[str, Any] = {"a": thing}
    items = [thing]

    def function() -> Any:
        return names

    member = Slotted.__dict__["a"]
    cell = function.__closure__[0]  # type: ignore[index]
    rows = [
        ("item", names, "a", thing),
        ("item", names, "b"),
        ("items", names, ("a", thing)),
        ("members", Slotted, tuple(part for pair in vars(Slotted).items() for part in pair)),
        ("mro", Slotted, Slotted.__mro__),
        ("cell", cell, names),
        ("function", function, function.__code__, None, None, None),
        ("type", thing, Slotted),
        ("dict", holder, holder.__dict__),
        ("member", thing, member),
        ("list", items, (thing,)),
        ("iterated", {thing}, set, (thing,)),
        ("bytes", bytearray(b"abc"), b"abc", "B", (3,)),
    ]
    assert _core.Guards(rows).hold()
    assert len(_core.Guards(rows)) == len(rows)
    assert not _core.Guards([], False).hold()
    wrong = [
        *((row[0], 1, *row[2:]) for row in rows if row[0] not in ("type", "dict")),
        *((*row, 1, 2, 3) for row in rows),
        ("member", 1.0, member),
        ("member", thing, vars(Settings)["__dict__"]),
        ("iterated", [1], set, (1,)),
        ("other", names, "a"),
        ("item",),
        (),
        1,
    ]
    for row in wrong:
        with pytest.raises(TypeError, match="not a row of guards"):
            _core.Guards([row])


def test_rows_asked_time_and_again_notice_each_change() -> None:
    """What one round has found unchanged must not hide what the next one finds."""

    class Slotted:
        __slots__ = ("a",)

    class First:
        pass

    class Second:
        pass

    class Derived(First):
        pass

    def function(x: Any = 1, *, y: Any = 2) -> Any:
        return x, y, names

    def other(x: Any = 1, *, y: Any = 2) -> Any:
        return names, x, y

    slotted, holder, items = Slotted(), Derived(), [1, 2]
    names: dict[str, Any] = {"a": holder}
    table = names  # while the captured variable is another dict
    factory: Any = collections.defaultdict(None)
    cell = function.__closure__[0]  # type: ignore[index]
    code, defaults, keywords = function.__code__, function.__defaults__, function.__kwdefaults__
    order = Derived.__mro__
    guards = _core.Guards(
        [
            ("cell", cell, names),
            ("function", function, code, defaults, keywords, None),
            ("type", holder, Derived),
            ("member", slotted, Slotted.__dict__["a"]),
            ("member", factory, vars(collections.defaultdict)["default_factory"], None),
            ("mro", Derived, order),
            ("item", table, "a", holder),
            ("item", table, "b"),
            ("list", items, tuple(items)),
        ]
    )
    changes: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
        (
            lambda: setattr(cell, "cell_contents", {}),
            lambda: setattr(cell, "cell_contents", table),
        ),
        (
            lambda: setattr(function, "__code__", other.__code__),
            lambda: setattr(function, "__code__", code),
        ),
        (
            lambda: setattr(function, "__defaults__", None),
            lambda: setattr(function, "__defaults__", defaults),
        ),
        (
            lambda: setattr(function, "__kwdefaults__", {"y": 2}),
            lambda: setattr(function, "__kwdefaults__", keywords),
        ),
        (
            lambda: setattr(holder, "__class__", First),
            lambda: setattr(holder, "__class__", Derived),
        ),
        (lambda: setattr(slotted, "a", None), lambda: delattr(slotted, "a")),
        (
            lambda: setattr(factory, "default_factory", int),
            lambda: setattr(factory, "default_factory", None),
        ),
        (lambda: table.update(a=1), lambda: table.update(a=holder)),
        (lambda: table.update(b=1), lambda: table.pop("b")),
        (lambda: items.append(3), lambda: items.pop()),
    ]
    for _ in range(2):
        for change, change_back in changes:
            assert guards.hold()
            change()
            assert not guards.hold()
            assert not guards.hold()
            change_back()
            assert guards.hold()
    table["c"] = 1  # of no row
    assert guards.hold()
    function.attribute = 1  # type: ignore[attr-defined]
    assert not guards.hold()
    assert not _core.Guards([("mro", Derived, (*order, Second))]).hold()
