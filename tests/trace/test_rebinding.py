# SPDX-License-Identifier: Apache-2.0
"""Names that a block makes another register's: reported where the value would be lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyptx import VerifyError, ptx, reg
from pyptx.types import f32, pred, u32, u64
from support.traces import refusal, trace, underlined


def in_a_range() -> None:
    a = reg.scalar(u32, 0)
    for i in ptx.range_(4):
        a = a + i


def on_the_right() -> None:
    a = reg.scalar(u32, 0)
    for i in ptx.range_(4):
        a = i + a


def in_a_while() -> None:
    a = reg.scalar(u32, 0)
    with ptx.while_(lambda: a < 10):
        a = a - 1


def in_a_loop() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.loop("again", pred=p):
        a = a.max(3)


def in_a_branch() -> None:
    a, p = reg.scalar(f32, 0.0), reg.scalar(pred)
    with ptx.if_(p):
        a = a * 2.0
    ptx.inst.mov.f32(reg.scalar(f32), a)


def in_an_elif() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.if_(p):
        pass
    with ptx.elif_(p):
        a = a | 1
    ptx.inst.mov.u32(reg.scalar(u32), a)


def in_an_else() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.if_(p):
        pass
    with ptx.else_():
        a = a << 1
    ptx.inst.mov.u32(reg.scalar(u32), a)


def of_a_pointer() -> None:
    p = reg.scalar(u64)
    for _ in ptx.range_(4):
        ptx.ld(f32, reg.scalar(f32), p)
        p = p + 16


def names_that_change_places() -> None:
    a, b = reg.scalar(u32, 0), reg.scalar(u32, 1)
    for _ in ptx.range_(4):
        a, b = b, a


def in_a_loop_of_python() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    for _ in range(2):
        with ptx.if_(p):
            a = a + 1


def of_two_parts() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.if_(p):
        b = a + 1
    with ptx.else_():
        b = a + 2
    ptx.inst.mov.u32(a, b)


def in_a_nested_block() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    for _ in ptx.range_(4):
        with ptx.if_(p):
            a = a + 1
        ptx.inst.mov.u32(reg.scalar(u32), a)


def of_a_closure() -> None:
    a = reg.scalar(u32, 0)

    def more() -> Any:
        return a + 1

    for _ in ptx.range_(4):
        a = more() + a


LOST: list[tuple[Callable[[], Any], str, str]] = [
    (in_a_range, "a", "a += i"),
    (on_the_right, "a", "a += i"),
    (in_a_while, "a", "a -= 1"),
    (in_a_loop, "a", "a.set(a.max(3))"),
    (in_a_branch, "a", "a *= 2.0"),
    (in_an_elif, "a", "a |= 1"),
    (in_an_else, "a", "a <<= 1"),
    (of_a_pointer, "p", "p += 16"),
    (names_that_change_places, "a", "a.set(...)"),
    (in_a_loop_of_python, "a", "a += 1"),
    (of_two_parts, "b", "b.set(a + 2)"),
    (in_a_nested_block, "a", "a += 1"),
    (of_a_closure, "a", "a += more()"),
]


@pytest.mark.parametrize(("write", "name", "fix"), LOST, ids=lambda x: getattr(x, "__name__", x))
def test_lost_values_are_reported(write: Callable[[], Any], name: str, fix: str) -> None:
    error = refusal(write)
    found = error.diagnostics[0]
    assert isinstance(error, VerifyError)
    assert found.code == "PTX0407"
    assert underlined(error)[:1] == name
    assert fix in str(error)


def temporaries() -> None:
    for _ in ptx.range_(4):
        x = reg.scalar(u32, 1)
        x = x + 1
        ptx.inst.mov.u32(x, x)
    for _ in ptx.range_(4):
        x = reg.scalar(u32, 2)
        ptx.inst.mov.u32(x, x)


def not_read_again() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.if_(p):
        a = a + 1
        ptx.inst.mov.u32(a, a)


def bound_again_before_it_is_read() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.if_(p):
        a = a + 1
    a = reg.scalar(u32, 5)
    ptx.inst.mov.u32(a, a)


def in_place() -> None:
    a = reg.scalar(u32, 0)
    for i in ptx.range_(4):
        a += i
        a.set(a + 1)
    ptx.inst.mov.u32(a, a)


def counters_of_several_loops() -> None:
    for i in ptx.range_(4):
        ptx.inst.mov.u32(i, i)
    for i in ptx.range_(4):
        ptx.inst.mov.u32(i, i)
    ptx.inst.mov.u32(i, i)


def of_a_loop_that_runs() -> None:
    last = reg.scalar(u32, 0)
    for i in ptx.range_(4):
        last = i * 2
    ptx.inst.mov.u32(last, last)


def in_a_scope() -> None:
    a = reg.scalar(u32, 0)
    with ptx.scope(), ptx.expr():
        a = a + 1
    ptx.inst.mov.u32(a, a)


def new_names() -> None:
    p = reg.scalar(pred)
    with ptx.if_(p):
        b = reg.scalar(u32, 1)
    ptx.inst.mov.u32(b, b)


def written_as_the_same_register() -> None:
    a, p = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.if_(p):
        b = a
        a = b
    ptx.inst.mov.u32(a, a)


FINE = (
    temporaries,
    not_read_again,
    bound_again_before_it_is_read,
    in_place,
    counters_of_several_loops,
    of_a_loop_that_runs,
    in_a_scope,
    new_names,
    written_as_the_same_register,
)


@pytest.mark.parametrize("write", FINE, ids=lambda x: x.__name__)
def test_values_that_are_not_lost_pass(write: Callable[[], Any]) -> None:
    trace(write, "sm_90a")
