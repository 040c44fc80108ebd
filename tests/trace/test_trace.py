# SPDX-License-Identifier: Apache-2.0
"""Traced text: register names, operators, control flow, parameters, determinism."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from pyptx import VerifyError, _core, ptx, reg, types
from pyptx.types import bf16, f16, f16x2, f32, f64, pred, s32, s64, u8, u16, u32, u64
from support.traces import body, tracing


@pytest.mark.parametrize(
    ("dtype", "name", "declaration"),
    [
        (pred, "%p0", ".reg .pred %p<1>;"),
        (u8, "%rs0", ".reg .b16 %rs<1>;"),
        (bf16, "%rs0", ".reg .b16 %rs<1>;"),
        (u16, "%rs0", ".reg .b16 %rs<1>;"),
        (f16, "%h0", ".reg .b16 %h<1>;"),
        (f16x2, "%hh0", ".reg .b32 %hh<1>;"),
        (s32, "%r0", ".reg .b32 %r<1>;"),
        (u64, "%rd0", ".reg .b64 %rd<1>;"),
        (types.b128, "%rq0", ".reg .b128 %rq<1>;"),
        (f32, "%f0", ".reg .f32 %f<1>;"),
        (f64, "%fd0", ".reg .f64 %fd<1>;"),
    ],
)
def test_register_names_follow_the_type(dtype: Any, name: str, declaration: str) -> None:
    with tracing() as trace:
        register = reg.scalar(dtype)
        assert register.name == name
        assert register.dtype is dtype
        assert declaration in trace.finish().text


def test_named_registers_are_declared_on_their_own() -> None:
    with tracing() as trace:
        first = reg.scalar(u32, init=1, name="count")
        second = reg.scalar(u32, name="count")
        fragment = reg.wgmma_frag(m=64, n=16, dtype=f32, name="acc")
        assert (first.name, second.name) == ("count", "count_1")
        assert len(fragment) == 8
        assert fragment[7].name == "acc7"
        text = trace.finish().text
    assert ".reg .u32 count;" in text
    assert ".reg .f32 acc<8>;" in text


OPERATORS = [
    (u32, lambda a, b: a + b, ["add.u32 %r2, %r0, %r1;"]),
    (u32, lambda a, b: 7 - a, ["sub.u32 %r2, 7, %r0;"]),
    (s32, lambda a, b: a * 3, ["mul.lo.s32 %r2, %r0, 3;"]),
    (f32, lambda a, b: a * 2, ["mul.f32 %f2, %f0, 0f40000000;"]),
    (f64, lambda a, b: 0.5 + a, ["add.f64 %fd2, 0d3FE0000000000000, %fd0;"]),
    (u32, lambda a, b: a << b, ["shl.b32 %r2, %r0, %r1;"]),
    (u32, lambda a, b: 1 << a, ["shl.b32 %r2, 1, %r0;"]),
    (u32, lambda a, b: a >> 4, ["shr.u32 %r2, %r0, 4;"]),
    (s32, lambda a, b: a >> 4, ["shr.s32 %r2, %r0, 4;"]),
    (u64, lambda a, b: a >> b, ["cvt.u32.u64 %r0, %rd1;", "shr.u64 %rd2, %rd0, %r0;"]),
    (s32, lambda a, b: a & 15, ["and.b32 %r2, %r0, 15;"]),
    (u64, lambda a, b: a | b, ["or.b64 %rd2, %rd0, %rd1;"]),
    (u16, lambda a, b: a ^ b, ["xor.b16 %rs2, %rs0, %rs1;"]),
    (pred, lambda a, b: a & b, ["and.pred %p2, %p0, %p1;"]),
    (u32, lambda a, b: ~a, ["not.b32 %r2, %r0;"]),
    (s32, lambda a, b: -a, ["neg.s32 %r2, %r0;"]),
    (f32, lambda a, b: abs(a), ["abs.f32 %f2, %f0;"]),
    (u32, lambda a, b: a.max(b), ["max.u32 %r2, %r0, %r1;"]),
    (s32, lambda a, b: a.min(-1), ["min.s32 %r2, %r0, -1;"]),
    (f32, lambda a, b: a.max(0), ["max.f32 %f2, %f0, 0f00000000;"]),
    (u32, lambda a, b: a < b, ["setp.lt.u32 %p0, %r0, %r1;"]),
    (s32, lambda a, b: 5 <= a, ["setp.ge.s32 %p0, %r0, 5;"]),  # noqa: SIM300
    (types.b32, lambda a, b: a == b, ["setp.eq.b32 %p0, %r0, %r1;"]),
    (f32, lambda a, b: a == b, ["setp.eq.f32 %p0, %f0, %f1;"]),
    (f32, lambda a, b: a != b, ["setp.neu.f32 %p0, %f0, %f1;"]),
    (f16, lambda a, b: a + 1, ["mov.b16 %h2, 15360;", "add.f16 %h3, %h0, %h2;"]),
    (u32, lambda a, b: reg.from_(a, f32), ["cvt.rn.f32.u32 %f0, %r0;"]),
    (f32, lambda a, b: reg.from_(a, s32), ["cvt.rzi.s32.f32 %r0, %f0;"]),
    (f32, lambda a, b: reg.from_(a, bf16), ["cvt.rn.bf16.f32 %rs0, %f0;"]),
    (f32, lambda a, b: reg.from_(a, types.b32), ["mov.b32 %r0, %f0;"]),
    (s32, lambda a, b: reg.from_(a, u64), ["cvt.u64.s32 %rd0, %r0;"]),
]


@pytest.mark.parametrize(("dtype", "operation", "expected"), OPERATORS)
def test_operators(dtype: Any, operation: Any, expected: list[str]) -> None:
    assert body(lambda: operation(reg.scalar(dtype), reg.scalar(dtype))) == expected


def test_narrow_integers_widen_by_their_own_sign() -> None:
    def write() -> None:
        wide, unsigned, signed = reg.scalar(u64), reg.scalar(u32), reg.scalar(s32)
        total = wide + unsigned * 4
        assert total.dtype is u64
        assert (signed + wide).dtype is u64

    assert body(write) == [
        "mul.lo.u32 %r2, %r0, 4;",
        "cvt.u64.u32 %rd1, %r2;",
        "add.u64 %rd2, %rd0, %rd1;",
        "cvt.s64.s32 %rd3, %r1;",
        "add.u64 %rd4, %rd3, %rd0;",
    ]


def test_in_place_operators_keep_the_register() -> None:
    def write() -> None:
        a = reg.scalar(s64, init=1)
        same = a
        a += 2
        a <<= 3
        a += reg.scalar(s32)
        assert a is same

    assert body(write) == [
        "mov.s64 %rd0, 1;",
        "add.s64 %rd0, %rd0, 2;",
        "shl.b64 %rd0, %rd0, 3;",
        "cvt.s64.s32 %rd1, %r0;",
        "add.s64 %rd0, %rd0, %rd1;",
    ]


def test_array_elements_are_written_directly() -> None:
    def write() -> None:
        a = reg.array(f32, 2)
        x = reg.scalar(f32)
        a[0] = x * 2.0  # a temporary: no mov
        kept = x + 1.0
        a[1] = kept  # held by a name: must stay
        a[1] += kept
        a[-1] = 0

    assert body(write) == [
        "mul.f32 %f0, %f2, 0f40000000;",
        "add.f32 %f3, %f2, 0f3F800000;",
        "mov.f32 %f1, %f3;",
        "add.f32 %f1, %f1, %f3;",
        "mov.f32 %f1, 0f00000000;",
    ]


def test_arrays_behave_as_sequences() -> None:
    with tracing():
        a = reg.array(u32, 3)
        assert [r.name for r in a] == ["%r0", "%r1", "%r2"]
        assert [r.name for r in a.hw_order(reverse=True)] == ["%r2", "%r1", "%r0"]
        assert (len(a), a.count, a.dtype, a.base) == (3, 3, u32, "%r0")
        assert len(a[1:]) == 2
        with pytest.raises(IndexError):
            a[3]


def test_a_register_has_no_truth_value() -> None:
    def write() -> None:
        a = reg.scalar(u32)
        with pytest.raises(TypeError, match=r"ptx\.if_"):
            bool(a == 1)
        with pytest.raises(TypeError):
            a in [1, 2]  # noqa: B015
        assert {a: "found"}[a] == "found"

    assert body(write) == []


def test_inst_takes_every_kind_of_operand() -> None:
    def write() -> None:
        a, b, p, q = reg.scalar(u32), reg.scalar(u32), reg.scalar(pred), reg.scalar(pred)
        d, pair = reg.scalar(u64), reg.array(f32, 2)
        assert ptx.inst.mov.u32(a, "%laneid") is a
        ptx.inst.mov.b64(d, [a, b])
        ptx.inst.setp.lt.u32(p | q, a, b)
        ptx.inst.selp.b32(a, 1, 0, p)
        ptx.inst.mov.f32(pair[0], 1.5, pred=~p)
        ptx.inst.ld.global_.v2.f32(pair, ptx.addr(d, 16), pred=q)
        ptx.inst.ld.shared__cta.u32(a, ptx.addr(b))
        ptx.inst.bra("DONE", pred=p)
        ptx.label("DONE")

    assert body(write) == [
        "mov.u32 %r0, %laneid;",
        "mov.b64 %rd0, {%r0, %r1};",
        "setp.lt.u32 %p0|%p1, %r0, %r1;",
        "selp.b32 %r0, 1, 0, %p0;",
        "@!%p0 mov.f32 %f0, 0f3FC00000;",
        "@%p1 ld.global.v2.f32 {%f0, %f1}, [%rd0+16];",
        "ld.shared::cta.u32 %r0, [%r1];",
        "@%p0 bra DONE;",
        "DONE:",
    ]


def test_if_else_nest() -> None:
    def write() -> None:
        p, a = reg.scalar(pred), reg.scalar(u32)
        with ptx.if_(p), ptx.if_(~p):
            ptx.inst.mov.u32(a, 1)
        with ptx.else_():
            ptx.inst.mov.u32(a, 2)

    assert body(write) == [
        "@!%p0 bra $L_else;",
        "@%p0 bra $L_else_1;",
        "mov.u32 %r0, 1;",
        "$L_else_1:",
        "bra $L_endif;",
        "$L_else:",
        "mov.u32 %r0, 2;",
        "$L_endif:",
    ]


def test_loops() -> None:
    def write() -> None:
        n = reg.scalar(s32)
        for i in ptx.range_(8, n, 2):
            assert i.dtype is s32
            ptx.comment("body")
        with ptx.range_(0, 4) as i, ptx.loop("again", pred=i < 2):
            pass

    assert body(write) == [
        "mov.s32 %r1, 8;",
        "setp.ge.s32 %p0, %r1, %r0;",
        "@%p0 bra $L_endrange;",
        "$L_range:",
        "// body",
        "add.s32 %r1, %r1, 2;",
        "setp.lt.s32 %p1, %r1, %r0;",
        "@%p1 bra $L_range;",
        "$L_endrange:",
        "mov.u32 %r2, 0;",
        "$L_range_1:",
        "setp.lt.u32 %p2, %r2, 2;",
        "again:",
        "@%p2 bra again;",
        "add.u32 %r2, %r2, 1;",
        "setp.lt.u32 %p3, %r2, 4;",
        "@%p3 bra $L_range_1;",
        "$L_endrange_1:",
    ]


def test_kloop_unrolls_and_finishes_the_rest() -> None:
    seen: list[Any] = []
    lines = body(lambda: ptx.kloop(7, unroll=3, body=seen.append))
    assert [s if isinstance(s, int) else "reg" for s in seen] == ["reg", "reg", "reg", 6]
    assert "add.u32 %r0, %r0, 3;" in lines
    assert "setp.lt.u32 %p0, %r0, 6;" in lines


def test_parameters_and_specials() -> None:
    def write(trace: _core.Trace) -> None:
        (x,) = ptx.global_ptrs("X")
        n = ptx.param(u32, "n")
        i = ptx.special.ctaid.x() * 32 + ptx.special.tid.x()
        ptx.ld(f32, reg.scalar(f32), ptx.addr(x, i * 4), pred=i < n)

    with tracing(version=(8, 0)) as trace:
        trace.add_tensor("X")
        trace.add_param("u32", "n")
        trace.add_directive("maxntid", (32, 1, 1))
        write(trace)
        text = trace.finish().text
    assert ".param .u64 X,\n" in text
    assert ".maxntid 32, 1, 1" in text
    assert "ld.param.u64 %rd0, [X];\n\tcvta.to.global.u64 %rd0, %rd0;" in text
    assert "@%p0 ld.global.f32 %f0, [%rd2];" in text


def test_warp_reductions_use_the_type() -> None:
    lines = body(lambda: ptx.warp.reduce_max(reg.scalar(s32), width=4))
    assert lines == [
        "shfl.sync.bfly.b32 %r1, %r0, 2, 7199, 4294967295;",
        "max.s32 %r0, %r0, %r1;",
        "shfl.sync.bfly.b32 %r2, %r0, 1, 7199, 4294967295;",
        "max.s32 %r0, %r0, %r2;",
    ]


def test_version_is_the_lowest_that_works_unless_pinned() -> None:
    with tracing("sm_80") as trace:
        ptx.bar.sync()
        assert trace.finish().version == (7, 0)
    with tracing("sm_80", version=(8, 7)) as trace:
        assert trace.finish().version == (8, 7)


def test_tensor_maps_get_a_slot_and_a_prologue() -> None:
    with tracing() as trace:
        trace.add_tensor("A")
        ptx.comment("first")
        assert trace.tensor_map("A").name == trace.tensor_map("A").name
        assert trace.map_tensors == ["A"]
        text = trace.finish().text
    assert text.index("ld.param.u64 %rd0, [A_tma_desc];") < text.index("// first")
    with tracing(maps_by_value=True) as trace:
        trace.tensor_map("A")
        assert ".param .align 64 .b8 A_tma_desc[128]" in trace.finish().text


def test_tracing_is_deterministic_across_threads() -> None:
    def trace() -> str:
        with tracing() as current:
            for _ in range(20):
                with ptx.if_(reg.scalar(u32) < 5):
                    reg.scalar(f32, init=1.0, name="x")
            return current.finish().text

    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(trace())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(texts) == {trace()}


def test_types_are_single_objects() -> None:
    assert types.from_name(".f32") is f32
    assert pickle.loads(pickle.dumps(f32)) is f32
    assert (f32.name, f32.bits, f32.ptx) == ("f32", 32, ".f32")
    with pytest.raises(ValueError, match="f33"):
        types.from_name("f33")


def test_traces_do_not_mix() -> None:
    with tracing():
        foreign = reg.scalar(u32)
    with tracing():
        reg.scalar(u32)
        with pytest.raises(VerifyError, match="another trace"):
            foreign + 1
