# SPDX-License-Identifier: Apache-2.0
"""What C++ throws is the same exception in Python, whichever kind of function it crosses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyptx import _core, ptx, reg

NO_TEXT = "\ud800"  # a str that C++ cannot have as a string


@pytest.fixture
def tracing() -> Iterator[None]:
    trace = _core.Trace("k", "sm_90a")
    trace.enter()
    yield
    trace.leave()


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: ptx.inst.bra(NO_TEXT), id="an instruction"),
        pytest.param(lambda: reg.scalar(NO_TEXT), id="a function of nanobind's"),
        pytest.param(lambda: _core.Entry(print, [("n", "u32", "x")]), id="a type of CPython's"),
    ],
)
def test_a_value_of_another_type_is_a_type_error(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="a value has another type than is needed here"):
        call()


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: _core.Entry(print, (1 / 0 for _ in "x")), ZeroDivisionError),
        (lambda: _core.Entry(print, [("n", "u32", 0, 0)]), TypeError),
        (lambda: _core.Entry(print, [("n", "u32")] * 1000), ValueError),
        (lambda: reg.array("f32", 8)[99], IndexError),
        (lambda: ptx.inst.__wrapped__, AttributeError),
        (lambda: ptx.inst.ret(guard=1), TypeError),
    ],
)
def test_a_built_in_exception_stays_what_it_is(
    call: Callable[[], Any], expected: type[Exception]
) -> None:
    with pytest.raises(expected) as caught:
        call()
    assert type(caught.value) is expected
