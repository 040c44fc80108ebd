# SPDX-License-Identifier: Apache-2.0
"""Expressions of registers: what each emits, and what to write for those that there are not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from pyptx import OperandTypeError, ptx, reg
from pyptx.types import b32, bf16, f16, f32, f64, pred, s32, u8, u32, u64
from support.traces import body, refusal, underlined


def test_choices() -> None:
    def write() -> None:
        p, a = reg.scalar(pred), reg.scalar(s32)
        ptx.select(p, a, -1)
        ptx.select(~p, a, 7)
        ptx.select(p, 1, 0)
        ptx.select(p, -1, 1)
        ptx.select(p, 0.5, 1)
        ptx.select(p, reg.scalar(f16), 1.0)

    assert body(write) == [
        "selp.s32 %r1, %r0, -1, %p0;",
        "selp.s32 %r2, 7, %r0, %p0;",
        "selp.u32 %r3, 1, 0, %p0;",
        "selp.s32 %r4, -1, 1, %p0;",
        "selp.f32 %f0, 0f3F000000, 0f3F800000, %p0;",
        "mov.b16 %h1, 15360;",
        "selp.b16 %h2, %h0, %h1, %p0;",
    ]


def test_products_with_a_sum() -> None:
    def write() -> None:
        a, b, wide, x = reg.scalar(u32), reg.scalar(s32), reg.scalar(u64), reg.scalar(f32)
        ptx.mad(a, 3, a)
        ptx.mad(b, 4, wide)
        ptx.mad(x, x, 1.5)
        ptx.mad(u32, a, a, a, 1)  # the form that is told type and destination

    assert body(write) == [
        "mad.lo.u32 %r2, %r0, 3, %r0;",
        "mad.wide.s32 %rd1, %r1, 4, %rd0;",
        "fma.rn.f32 %f1, %f0, %f0, 0f3FC00000;",
        "mad.lo.u32 %r0, %r0, %r0, 1;",
    ]


def test_smaller_larger_magnitude_quotient() -> None:
    def write() -> None:
        a, s, x, y = reg.scalar(u32), reg.scalar(s32), reg.scalar(f32), reg.scalar(f64)
        ptx.min(a, 3)
        ptx.max(1.0, x)
        ptx.abs(s)
        abs(x)
        -s
        x / 3
        1.0 / y
        ptx.min(u32, a, a, 3)

    assert body(write) == [
        "min.u32 %r2, %r0, 3;",
        "max.f32 %f1, 0f3F800000, %f0;",
        "abs.s32 %r3, %r1;",
        "abs.f32 %f2, %f0;",
        "neg.s32 %r4, %r1;",
        "div.rn.f32 %f3, %f0, 0f40400000;",
        "div.rn.f64 %fd1, 0d3FF0000000000000, %fd0;",
        "min.u32 %r0, %r0, 3;",
    ]


def test_written_registers() -> None:
    def write() -> None:
        a, b = reg.scalar(u32), reg.scalar(u32)
        a.set(a + b)
        a.set(b)
        a.set(7)
        assert a.set(a) is a

    assert body(write) == [
        "add.u32 %r0, %r0, %r1;",
        "mov.u32 %r0, %r1;",
        "mov.u32 %r0, 7;",
    ]


def test_scalars_from_any_number_or_register() -> None:
    def write() -> None:
        reg.scalar(f32, 1)
        reg.scalar(bf16, 0.5)
        i = reg.scalar(u8, 3)
        reg.scalar(f32, i)
        reg.scalar(u64, -1)
        reg.scalar(f32, i) * 0.5 + 1

    assert body(write) == [
        "mov.f32 %f0, 0f3F800000;",
        "mov.b16 %rs0, 16128;",
        "mov.b16 %rs1, 3;",
        "cvt.rn.f32.u8 %f1, %rs1;",
        "mov.u64 %rd0, -1;",
        "cvt.rn.f32.u8 %f2, %rs1;",
        "mul.f32 %f3, %f2, 0f3F000000;",
        "add.f32 %f4, %f3, 0f3F800000;",
    ]


def test_vectors_in_loads_and_stores() -> None:
    def write() -> None:
        four, address = reg.array(f32, 4), reg.scalar(u64)
        ptx.ld(f32, four, ptx.addr(address))
        ptx.st(f32, ptx.addr(address, 16), four[:2])
        ptx.st(f32, address, [four[3], four[0]])

    assert body(write) == [
        "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd0];",
        "st.global.v2.f32 [%rd0+16], {%f0, %f1};",
        "st.global.v2.f32 [%rd0], {%f3, %f0};",
    ]


def test_either_predicate() -> None:
    """p | q is one predicate where one is wanted, and a pair where an instruction takes one."""

    def write() -> None:
        p, q, a = reg.scalar(pred), reg.scalar(pred), reg.scalar(u32)
        ptx.inst.setp.lt.u32(p | q, a, 3)
        ptx.setp("lt", u32, p | q, a, 3)
        with ptx.if_(p | q):
            ptx.inst.mov.u32(a, 1, pred=p | q)
        ptx.select(p | q, a, 0)
        ptx.selp(u32, a, a, 0, p | q)
        ptx.inst.selp.u32(a, a, 0, p | q)
        (p | q) & ~p
        p | q | p
        ptx.ret(pred=~(p | q))
        ~p | q

    assert [*body(write)[:-1], "..."] == [
        "setp.lt.u32 %p0|%p1, %r0, 3;",
        "setp.lt.u32 %p0|%p1, %r0, 3;",
        "or.pred %p2, %p0, %p1;",
        "@!%p2 bra $L_else;",
        "or.pred %p3, %p0, %p1;",
        "@%p3 mov.u32 %r0, 1;",
        "$L_else:",
        "or.pred %p4, %p0, %p1;",
        "selp.u32 %r1, %r0, 0, %p4;",
        "or.pred %p5, %p0, %p1;",
        "selp.u32 %r0, %r0, 0, %p5;",
        "or.pred %p6, %p0, %p1;",
        "selp.u32 %r0, %r0, 0, %p6;",
        "or.pred %p7, %p0, %p1;",
        "not.pred %p8, %p0;",
        "and.pred %p9, %p7, %p8;",
        "or.pred %p10, %p0, %p1;",
        "or.pred %p11, %p10, %p0;",
        "or.pred %p12, %p0, %p1;",
        "@!%p12 ret;",
        "not.pred %p13, %p0;",
        "...",
    ]


VALUES_ASKED_FOR: list[tuple[Callable[[Any], Any], str]] = [
    (bool, "ptx.if_"),
    (lambda x: 1 if x else 2, "ptx.if_"),
    (lambda x: (x > 1) and (x < 3), "`p & q`"),
    (lambda x: (x > 1) or (x < 3), "`p | q`"),
    (lambda x: not (x > 1), "`~p`"),
    (lambda x: min(x, 3), "a.min(b)"),
    (int, "reg.from_(value, s32)"),
    (float, "reg.from_(value, f32)"),
    (math.sqrt, "sqrt.approx"),
    (range, "ptx.range_"),
    (lambda x: [1, 2, 3][x], "smem.alloc"),
    (lambda x: reg.array(u32, 4)[x], "smem.alloc"),
    (lambda x: reg.array(u32, 4).__setitem__(x, 1), "smem.alloc"),
]


@pytest.mark.parametrize(("ask", "advice"), VALUES_ASKED_FOR)
def test_a_register_has_no_value(ask: Callable[[Any], Any], advice: str) -> None:
    error = refusal(lambda: ask(reg.scalar(u32)))
    assert isinstance(error, OperandTypeError)
    assert error.diagnostics[0].code == "PTX0243"
    assert error.diagnostics[0].line is not None
    assert advice in str(error)


MISSING: list[tuple[Callable[[], Any], str]] = [
    (lambda: reg.scalar(u32) ** 2, "x * x"),
    (lambda: 2 ** reg.scalar(f32), "ex2.approx"),
    (lambda: reg.scalar(f32) @ reg.scalar(f32), "ptx.wgmma"),
    (lambda: reg.scalar(u64)[0], "ptx.ld(type, d, address)"),
    (lambda: [*reg.scalar(u32)], "ptx.range_(n)"),
    (lambda: 3 in reg.scalar(u32), "ptx.range_(n)"),
    (lambda: reg.scalar(f32) << 1, "reg.scalar(b32, x)"),
    (lambda: reg.scalar(f16) / 2, "divide in f32"),
    (lambda: reg.scalar(pred) + 1, "ptx.select(p, a, b)"),
    (lambda: abs(reg.scalar(u32)), "without sign"),
    (lambda: ptx.select(reg.scalar(pred), reg.scalar(pred), reg.scalar(pred)), "&, |, ^ and ~"),
]


@pytest.mark.parametrize(("write", "advice"), MISSING)
def test_missing_operators_say_what_to_write(write: Callable[[], Any], advice: str) -> None:
    error = refusal(write)
    assert error.diagnostics[0].code == "PTX0233"
    assert advice in str(error)


def test_the_caret_is_under_the_operator() -> None:
    error = refusal(lambda: reg.scalar(u32) ** 2)
    assert underlined(error) == "reg.scalar(u32) ** 2"


def test_refused_expressions() -> None:
    a, p = (lambda: reg.scalar(u32)), (lambda: reg.scalar(pred))
    assert refusal(lambda: ptx.mad(2, 3, a())).diagnostics[0].code == "PTX0237"
    assert refusal(lambda: ptx.mad(a(), a(), reg.scalar(f32))).diagnostics[0].code == "PTX0232"
    assert refusal(lambda: ptx.select(a(), 1, 0)).diagnostics[0].code == "PTX0205"
    assert refusal(lambda: ptx.select(p(), a(), 1.5)).diagnostics[0].code == "PTX0236"
    assert refusal(lambda: ptx.min(1, 2)).diagnostics[0].code == "PTX0237"
    assert refusal(lambda: ptx.if_(p() | a())).diagnostics[0].code == "PTX0234"
    assert refusal(lambda: ptx.select(None, 1, 0)).diagnostics[0].code == "PTX0237"
    assert refusal(lambda: a().set(reg.scalar(b32).max(1.5))).diagnostics[0].code == "PTX0236"
