# SPDX-License-Identifier: Apache-2.0
"""Values while tracing: literals at the edge of a type, 8-bit registers, signs, array slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b32, bf16, f16, f16x2, f32, pred, s8, s32, s64, u8, u16, u32, u64
from support.traces import body, refusal, underlined

LITERALS_REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: ptx.inst.add.u32(reg.scalar(u32), reg.scalar(u32), 2**32), "2**32"),
    (lambda: ptx.inst.mov.u16(reg.scalar(u16), 70000), "70000"),
    (lambda: ptx.inst.st.shared.v2.u32(ptx.addr(reg.scalar(u32)), [1, -(2**40)]), "[1, -(2**40)]"),
    (lambda: ptx.inst.add.f32(reg.scalar(f32), reg.scalar(f32), 1e39), "1e39"),
    (lambda: reg.scalar(u32) < -1, "reg.scalar(u32) < -1"),
    (lambda: reg.scalar(b32) >= -1, "reg.scalar(b32) >= -1"),
    (lambda: reg.scalar(s32) < 2**31, "reg.scalar(s32) < 2**31"),
    (lambda: reg.scalar(u32).max(-1), "reg.scalar(u32).max(-1)"),
    (lambda: reg.scalar(u32) << -1, "reg.scalar(u32) << -1"),
    (lambda: reg.scalar(f16, init=1e6), "reg.scalar(f16, init=1e6)"),
    (lambda: reg.scalar(bf16, init=-1e39), "reg.scalar(bf16, init=-1e39)"),
    (lambda: reg.scalar(f32, init=1e39), "reg.scalar(f32, init=1e39)"),
    (lambda: reg.scalar(u8, init=256), "reg.scalar(u8, init=256)"),
]


@pytest.mark.parametrize(("write", "text"), LITERALS_REFUSED)
def test_literals_outside_the_type_are_refused(write: Callable[[], Any], text: str) -> None:
    error = refusal(write)
    assert error.diagnostics[0].code == "PTX0236"
    assert underlined(error) == text


def test_literals_that_mean_what_they_say_are_kept() -> None:
    def write() -> None:
        a = reg.scalar(u32)
        _ = a == -1
        a & -4
        a + -1
        _ = reg.scalar(s32) < -(2**31)
        _ = a < 2**32 - 1
        reg.scalar(u64) + (2**64 - 1)
        reg.scalar(f16, init=65504)
        reg.scalar(f32, init=float("inf"))

    assert body(write) == [
        "setp.eq.u32 %p0, %r0, -1;",
        "and.b32 %r1, %r0, -4;",
        "add.u32 %r2, %r0, -1;",
        "setp.lt.s32 %p1, %r3, -2147483648;",
        "setp.lt.u32 %p2, %r0, 4294967295;",
        "add.u64 %rd1, %rd0, -1;",
        "mov.b16 %h0, 31743;",
        "mov.f32 %f0, 0f7F800000;",
    ]


def test_unsigned_wins_on_either_side() -> None:
    def write() -> None:
        s, u = reg.scalar(s32), reg.scalar(u32)
        _ = s < u
        _ = u > s
        assert (s + u).dtype is u32
        assert (reg.scalar(b32) + s).dtype is s32
        assert (u + reg.scalar(s64)).dtype is s64

    assert body(write)[:2] == ["setp.lt.u32 %p0, %r0, %r1;", "setp.gt.u32 %p1, %r1, %r0;"]


def test_eight_bit_registers_hold_values_of_their_type() -> None:
    def write() -> None:
        a = reg.scalar(u8, init=-1)
        a += 10
        b = reg.scalar(s8, init=200)
        reg.from_(a, s8)
        _ = a == -1
        assert (~a).dtype.bits == 16
        reg.scalar(u8, init=1, name="count")
        assert b.dtype is s8

    assert body(write) == [
        "mov.b16 %rs0, 255;",
        "add.u16 %rs0, %rs0, 10;",
        "cvt.u16.u8 %rs0, %rs0;",
        "mov.b16 %rs1, -56;",
        "cvt.s8.u8 %rs2, %rs0;",
        "setp.eq.u16 %p0, %rs0, 255;",
        "not.b16 %rs3, %rs0;",
        "mov.b16 count, 1;",
    ]


def test_two_halves_have_no_single_order() -> None:
    pair = refusal(lambda: reg.scalar(f16x2) < reg.scalar(f16x2))
    assert pair.diagnostics[0].code == "PTX0233"


def test_an_array_slot_takes_over_only_what_nobody_else_holds() -> None:
    def named() -> None:
        slots, other = reg.array(u32, 2), reg.array(u32, 2)
        ptx.inst.mov.u32(other[1], 5)
        slots[0] = other[1]  # the element is no temporary, its Python object is
        other[1] + 1

    assert body(named) == ["mov.u32 %r3, 5;", "mov.u32 %r0, %r3;", "add.u32 %r4, %r3, 1;"]

    def ring() -> None:
        slots = reg.array(u32, 1)
        pipeline = ptx.mbarrier.pipeline(3)
        slots[0] = pipeline.phase
        assert pipeline.phase.name == "%r2"

    assert body(ring)[-1] == "mov.u32 %r0, %r2;"

    def first() -> None:
        slots = reg.array(u32, 1)
        slots[0] = smem.alloc(u32, (4,)).address()

    assert body(first)[-1] == "mov.u32 %r0, %r1;"

    def direct() -> None:
        slots = reg.array(u32, 1)
        slots[0] = reg.scalar(u32) + 1

    assert body(direct) == ["add.u32 %r0, %r1, 1;"]


def test_an_array_slot_refuses_another_format() -> None:
    def narrow() -> None:
        slots = reg.array(u8, 1)
        slots[0] = reg.scalar(u8) + 1  # promoted to 16 bits

    def pair() -> None:
        slots = reg.array(u32, 1)
        slots[0] = reg.scalar(f16x2) + reg.scalar(f16x2)

    assert [refusal(f).diagnostics[0].code for f in (narrow, pair)] == ["PTX0232", "PTX0232"]


def test_addresses() -> None:
    def write() -> None:
        p, i = reg.scalar(u64), reg.scalar(u32)
        x = reg.scalar(u32)
        ptx.inst.ld.global_.u32(x, ptx.addr(ptx.addr(p, 8), i))
        tile = smem.alloc(u32, (4, 4), name="tile")
        ptx.inst.ld.shared.u32(x, ptx.addr(tile, 4))
        ptx.inst.ld.shared.u32(x, ptx.addr(tile[1], i))

    assert body(write)[1:] == [
        "mov.u32 %r2, tile;",
        "cvt.u64.u32 %rd1, %r0;",
        "add.u64 %rd2, %rd0, %rd1;",
        "ld.global.u32 %r1, [%rd2+8];",
        "ld.shared.u32 %r1, [%r2+4];",
        "add.u32 %r3, %r2, %r0;",
        "ld.shared.u32 %r1, [%r3+16];",
    ]
    refused: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: ptx.inst.ld.global_.u32(reg.scalar(u32), ptx.addr(reg.scalar(u64), 2**31)),
            "0237",
        ),
        (lambda: ptx.addr(reg.scalar(u64), 1.5), "0237"),
        (lambda: ptx.addr(reg.scalar(u64), "x"), "0234"),
        (lambda: ptx.addr("name", reg.scalar(u32)), "0237"),
        (lambda: ptx.inst.ld.shared.u32(reg.scalar(u32), ptx.addr("nowhere")), "0241"),
        (lambda: ptx.inst.mov.u32(reg.scalar(u32), "%tid.xx"), "0234"),
    ]
    codes = [refusal(write).diagnostics[0].code for write, _ in refused]
    assert codes == [f"PTX{code}" for _, code in refused]


def test_shared_elements_take_numbers_of_their_type() -> None:
    def write() -> None:
        smem.alloc(f32, (4,), name="floats")[0] = 1
        smem.alloc(bf16, (4,), name="halves")[1] = 1.5

    assert body(write)[-3:] == [
        "st.shared.f32 [%r0], 0f3F800000;",
        "mov.b16 %rs0, 16320;",
        "st.shared.b16 [%r1+2], %rs0;",
    ]

    def float_into_integers() -> None:
        smem.alloc(u32, (4,))[0] = 1.5

    assert refusal(float_into_integers).diagnostics[0].code == "PTX0236"


def test_names_and_sizes_that_ptx_cannot_have() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: smem.alloc(bf16, (2**40, 2**40)), "PTX0501"),
        (lambda: smem.alloc(u8, (2**32,)), "PTX0501"),
        (lambda: reg.scalar(u32, name="WARP_SZ"), "PTX0235"),
        (lambda: reg.scalar(u32, name="%tid"), "PTX0238"),
        (lambda: ptx.var("shared", u32, "words", size=4, align=3), "PTX0237"),
    ]
    assert [refusal(write).diagnostics[0].code for write, _ in cases] == [c for _, c in cases]


def test_none_is_no_operand() -> None:
    with pytest.raises(TypeError, match="takes registers and numbers, not None"):
        body(lambda: reg.scalar(u32) + None)
    assert body(lambda: reg.scalar(u32) == None) == []  # noqa: E711


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(7, 0, -2), (8, 0, -3), (1, 0, -5), (0, 0, -1), (9, 3, -1)]
)
def test_an_unsigned_loop_may_step_past_zero(start: int, stop: int, step: int) -> None:
    @kernel(in_specs=(Tile(2, u32),), out_specs=(Tile(16, u32),), block=(1, 1, 1))
    def count(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        first, last = reg.scalar(u32), reg.scalar(u32)
        ptx.inst.ld.global_.u32(first, ptx.addr(px))
        ptx.inst.ld.global_.u32(last, ptx.addr(px, 4))
        for i in ptx.range_(16):
            ptx.inst.st.global_.u32(ptx.addr(py, i * 4), 0)
        for i in ptx.range_(first, last, step):
            ptx.inst.st.global_.u32(ptx.addr(py, i * 4), 1)

    visited = np.flatnonzero(count(np.array([start, stop], dtype=np.uint32)))
    assert sorted(visited) == sorted(range(start, stop, step))


def test_range_bounds_must_fit_the_counter() -> None:
    def loop(*bounds: Any) -> Callable[[], None]:
        def write() -> None:
            for _ in ptx.range_(*bounds):
                ptx.inst.bar.sync(0)

        return write

    for bounds in [(3 * 10**9, 10, -1), (0, 2**32), (-1, 2**31)]:
        assert refusal(loop(*bounds)).diagnostics[0].code == "PTX0236"
    assert (
        refusal(lambda: next(ptx.range_(reg.scalar(u32), -1, -1))).diagnostics[0].code == "PTX0236"
    )


def test_a_range_starts_anew_with_every_for() -> None:
    def write() -> None:
        bounds = ptx.range_(0, 4)
        for _ in range(2):
            for _ in bounds:
                ptx.inst.bar.sync(0)

    assert sum("bar.sync" in line for line in body(write)) == 2


def test_registers_outlive_their_scope() -> None:
    def write() -> None:
        with ptx.scope():
            inner = reg.scalar(u32, init=1, name="inner")
        reg.scalar(u32, init=inner)

    assert body(write) == ["{", "mov.u32 inner, 1;", "}", "mov.u32 %r0, inner;"]


def test_misused_constructs() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: ptx.if_(reg.scalar(pred)).__exit__(None, None, None), "PTX0404"),
        (lambda: ptx.range_(0, 4).__exit__(None, None, None), "PTX0404"),
        (lambda: ptx.kloop(reg.scalar(f32), unroll=2, body=print), "PTX0237"),
        (lambda: ptx.pragma('no"unroll'), "PTX0237"),
    ]
    assert [refusal(write).diagnostics[0].code for write, _ in cases] == [c for _, c in cases]
