# SPDX-License-Identifier: Apache-2.0
"""while_, break_, continue_ and elif_: what they emit, what they compute, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import pred, u32
from support.traces import body, refusal


def computed(write: Callable[[Any], Any], count: int = 8) -> list[int]:
    """What `write` returns for threads 0, 1, ..., on the emulator."""

    @kernel(out_specs=(Tile(count, u32),), block=(count, 1, 1))
    def k(Y):
        t = ptx.special.tid.x()
        ptx.st(u32, ptx.at(Y, t), write(t))
        ptx.ret()

    found = np.zeros(count, np.uint32)
    k(out=found)
    return [int(x) for x in found]


def test_text_of_while() -> None:
    def write() -> None:
        i = reg.scalar(u32, 0)
        with ptx.while_(lambda: i < 10):
            ptx.continue_(pred=i > 5)
            i += 1
            ptx.break_(i == 7)

    assert body(write) == [
        "mov.u32 %r0, 0;",
        "$L_while:",
        "setp.lt.u32 %p0, %r0, 10;",
        "@!%p0 bra $L_endwhile;",
        "setp.gt.u32 %p1, %r0, 5;",
        "@%p1 bra $L_while;",
        "add.u32 %r0, %r0, 1;",
        "setp.eq.u32 %p2, %r0, 7;",
        "@%p2 bra $L_endwhile;",
        "bra $L_while;",
        "$L_endwhile:",
    ]


def test_text_of_elif() -> None:
    def write() -> None:
        a = reg.scalar(u32)
        with ptx.if_(a == 1):
            a += 1
        with ptx.elif_(a == 2):
            a += 2
        with ptx.elif_(lambda: a == 3):
            a += 3
        with ptx.else_():
            a += 4

    assert body(write) == [
        "setp.eq.u32 %p0, %r0, 1;",
        "@!%p0 bra $L_else;",
        "add.u32 %r0, %r0, 1;",
        "bra $L_endif;",
        "$L_else:",
        "setp.eq.u32 %p1, %r0, 2;",
        "@!%p1 bra $L_else_1;",
        "add.u32 %r0, %r0, 2;",
        "bra $L_endif;",
        "$L_else_1:",
        "setp.eq.u32 %p2, %r0, 3;",
        "@!%p2 bra $L_else_2;",
        "add.u32 %r0, %r0, 3;",
        "bra $L_endif;",
        "$L_else_2:",
        "add.u32 %r0, %r0, 4;",
        "$L_endif:",
    ]


def test_loops_without_ways_out_are_as_they_were() -> None:
    def write() -> None:
        a = reg.scalar(u32)
        for i in ptx.range_(4):
            a += i
        with ptx.loop("again", pred=a < 9):
            a += 1

    text = "\n".join(body(write))
    assert "$L_break" not in text
    assert "$L_continue" not in text


def test_while_counts() -> None:
    def count(t: Any) -> Any:
        steps, x = reg.scalar(u32, 0), reg.scalar(u32, t + 1)
        with ptx.while_(lambda: x != 1):  # Collatz
            half = x >> 1
            x.set(ptx.select((x & 1) == 0, half, x * 3 + 1))
            steps += 1
        return steps

    def collatz(x: int) -> int:
        steps = 0
        while x != 1:
            x, steps = (x // 2 if x % 2 == 0 else 3 * x + 1), steps + 1
        return steps

    assert computed(count) == [collatz(t + 1) for t in range(8)]


def test_while_on_a_register_that_the_loop_writes() -> None:
    def count(t: Any) -> Any:
        n, more = reg.scalar(u32, 0), reg.scalar(pred)
        ptx.setp("lt", u32, more, 0, t)
        with ptx.while_(more):
            n += 1
            ptx.setp("lt", u32, more, n, t)
        return n

    assert computed(count) == [*range(8)]


def test_break_and_continue_of_nested_loops() -> None:
    def count(t: Any) -> Any:
        total = reg.scalar(u32, 0)
        for i in ptx.range_(10):
            ptx.continue_(pred=(i & 1) == 1)
            for j in ptx.range_(0, 10, 3):
                with ptx.if_(j > i):
                    ptx.break_()
                total += j
            with ptx.if_(i >= t):
                ptx.break_()
        with ptx.while_(True):
            total += 100
            ptx.break_(pred=total > 150)
        with ptx.loop("again", pred=total < 1000):
            total += 7
            ptx.continue_(pred=(total & 1) == 0)
            ptx.break_(pred=total > 500)
        return total

    def wanted(t: int) -> int:
        total = 0
        for i in range(10):
            if i & 1:
                continue
            for j in range(0, 10, 3):
                if j > i:
                    break
                total += j
            if i >= t:
                break
        while True:
            total += 100
            if total > 150:
                break
        while True:
            total += 7
            if total & 1 and total > 500:
                break
            if not total < 1000:
                break
        return total

    assert computed(count) == [wanted(t) for t in range(8)]


def test_chains_compute() -> None:
    def pick(t: Any) -> Any:
        x = reg.scalar(u32, 0)
        with ptx.if_(t == 0):
            x += 1
            with ptx.if_(t == 1):  # never
                x += 50
            with ptx.else_():
                x += 9
        with ptx.elif_(t == 1):
            x += 2
        with ptx.elif_((t == 2) | (t == 3)):
            x += 3
        with ptx.elif_(t == 4):
            x += 4
            with ptx.while_(lambda: x < 90):
                x += 10
        with ptx.else_():
            x += 5
        with ptx.if_(t == 7):
            x += 1000
        with ptx.elif_(t == 6):
            x += 2000
        return x

    assert computed(pick) == [10, 2, 3, 3, 94, 5, 2005, 1005]


def stuck() -> None:
    i = reg.scalar(u32, 0)
    with ptx.while_(i < 4):
        i += 1


def stuck_behind_a_branch() -> None:
    i, other = reg.scalar(u32, 0), reg.scalar(pred)
    with ptx.while_(i < 4), ptx.if_(other):
        i += 1


def endless() -> None:
    with ptx.while_(True):
        reg.scalar(u32, 1)


def elif_alone() -> None:
    with ptx.elif_(reg.scalar(pred)):
        pass


def elif_after_something_else() -> None:
    a = reg.scalar(u32)
    with ptx.if_(a > 1):
        pass
    a += 1
    with ptx.elif_(a > 2):
        pass


def elif_after_else() -> None:
    p = reg.scalar(pred)
    with ptx.if_(p):
        pass
    with ptx.else_():
        pass
    with ptx.elif_(p):
        pass


def break_of_kloop() -> None:
    ptx.kloop(8, unroll=2, body=lambda i: ptx.break_())


def break_of_written_out_kloop() -> None:
    ptx.kloop(1, unroll=1, body=lambda i: ptx.continue_())


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (stuck, "PTX0409"),
        (stuck_behind_a_branch, "PTX0409"),
        (endless, "PTX0409"),
        (lambda: ptx.break_(), "PTX0408"),
        (lambda: ptx.continue_(), "PTX0408"),
        (break_of_kloop, "PTX0408"),
        (break_of_written_out_kloop, "PTX0408"),
        (elif_alone, "PTX0417"),
        (elif_after_something_else, "PTX0417"),
        (elif_after_else, "PTX0417"),
        (lambda: ptx.if_(None), "PTX0209"),
        (lambda: ptx.while_(None), "PTX0209"),
        (lambda: ptx.while_(lambda: None).__enter__(), "PTX0209"),
        (lambda: ptx.while_(reg.scalar(u32)).__enter__(), "PTX0209"),
    ],
)
def test_refused(write: Callable[[], Any], code: str) -> None:
    assert refusal(write).diagnostics[0].code == code


def test_a_condition_that_may_end_is_taken() -> None:
    def write() -> None:
        p, i = reg.scalar(pred), reg.scalar(u32)
        with ptx.while_(p), ptx.if_(i > 1):
            ptx.ret()
        with ptx.while_(p):
            ptx.setp("lt", u32, p, i, 4)
        with ptx.while_(p):
            ptx.raw("// whatever it does\n")
        with ptx.while_(p):
            ptx.bra("out")
        ptx.label("out")

    body(write)
