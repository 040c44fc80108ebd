# SPDX-License-Identifier: Apache-2.0
"""`//` and `%` against Python's own integers, by divisors known while tracing and at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import b32, f32, s8, s16, s32, s64, u8, u16, u32, u64
from support.traces import body, refusal

BLOCK = 128
_SMALL = (1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 14, 25, 28, 60, 100, 125, 127, 128, 251, 641, 1000)


def limits(bits: int, is_signed: bool) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def near(number: int) -> tuple[int, ...]:
    return number - 1, number, number + 1


def divisors_of(bits: int, is_signed: bool) -> list[int]:
    """Small ones, powers of two and their neighbours, the largest; and their opposites."""
    low, high = limits(bits, is_signed)
    found = {*_SMALL, high, high - 1, high // 2, high // 3, *(7919, 6700417, 0x55555555)}
    found |= {x for k in range(1, bits) for x in near(1 << k)}
    found |= {-x for x in found} | {low, low + 1} if is_signed else set()
    return sorted(x for x in found if low <= x <= high and x != 0)


def dividends_of(bits: int, is_signed: bool, divisors: list[int]) -> list[int]:
    """The ends of the range, powers of two, and around multiples of the divisors."""
    low, high = limits(bits, is_signed)
    found = {*near(0), *near(low), *near(high)} | {x for k in range(bits) for x in near(1 << k)}
    for by in divisors:
        for times in (1, 2, 3, high // by, high // by - 1, high // (2 * by)):
            found.update(near(by * times))
    if is_signed:
        found |= {-x for x in found}
    return sorted(x for x in found if low <= x <= high)


def quotients(dtype: Any, divisors: list[int], dividends: list[int]) -> tuple[Any, Any]:
    """What a kernel makes of every dividend and divisor, on the emulator."""
    count, rows = len(dividends), len(divisors)

    @kernel(
        in_specs=(Tile("N", dtype),),
        out_specs=(Tile(rows, "N", dtype), Tile(rows, "N", dtype)),
        grid=lambda N: (-(-N // BLOCK), 1, 1),
        block=(BLOCK, 1, 1),
    )
    def divide(X, Q, R):
        (n,) = X.shape
        i = ptx.special.ctaid.x() * BLOCK + ptx.special.tid.x()
        with ptx.if_(i < n):
            x = reg.scalar(dtype)
            ptx.ld(dtype, x, ptx.at(X, i))
            for row, by in enumerate(divisors):
                ptx.st(dtype, ptx.at(Q, row, i), reg.from_(x // by, dtype))
                ptx.st(dtype, ptx.at(R, row, i), reg.from_(x % by, dtype))
        ptx.ret()

    assert not any(word in divide.ptx(N=count) for word in ("div.", "rem."))
    return divide(np.array(dividends, dtype=_numpy(dtype)))


def _numpy(dtype: Any) -> Any:
    return np.dtype(f"{'int' if dtype.name[0] == 's' else 'uint'}{dtype.bits}")


def expected(dtype: Any, dividend: int, by: int) -> tuple[int, int]:
    """Python's answer; the one quotient that does not fit wraps around."""
    low, high = limits(dtype.bits, dtype.name[0] == "s")
    quotient = dividend // by
    return quotient if low <= quotient <= high else low, dividend % by


@pytest.mark.parametrize("dtype", [u8, s8, u16, s16, u32, s32, u64, s64], ids=lambda t: t.name)
def test_known_divisors(dtype: Any) -> None:
    is_signed = dtype.name[0] == "s"
    divisors = divisors_of(dtype.bits, is_signed)
    divisors = divisors[:: max(1, len(divisors) // 60)] + divisors[-1:]
    low, high = limits(dtype.bits, is_signed)
    every = range(low, high + 1)
    dividends = dividends_of(dtype.bits, is_signed, divisors) if dtype.bits > 8 else list(every)
    dividends = dividends[:: max(1, len(dividends) // 500)]
    found_q, found_r = quotients(dtype, divisors, dividends)
    for row, by in enumerate(divisors):
        wanted = [expected(dtype, x, by) for x in dividends]
        assert found_q[row].tolist() == [q for q, _ in wanted], by
        assert found_r[row].tolist() == [r for _, r in wanted], by


@pytest.mark.parametrize("dtype", [u32, s32, s64], ids=lambda t: t.name)
def test_divisors_at_run_time(dtype: Any) -> None:
    low, high = limits(dtype.bits, dtype.name[0] == "s")
    numbers = sorted({x for x in (-7, -2, -1, 1, 2, 3, 7, 100, low, high, 0) if low <= x <= high})
    pairs = [(a, b) for a in numbers for b in numbers if b != 0 and (a, b) != (low, -1)]

    @kernel(
        in_specs=(Tile("N", dtype), Tile("N", dtype)),
        out_specs=(Tile("N", dtype), Tile("N", dtype)),
        block=(BLOCK, 1, 1),
    )
    def divide(A, B, Q, R):
        i = ptx.special.tid.x()
        with ptx.if_(i < A.shape[0]):
            a, b = reg.scalar(dtype), reg.scalar(dtype)
            ptx.ld(dtype, a, ptx.at(A, i))
            ptx.ld(dtype, b, ptx.at(B, i))
            quotient, rest = divmod(a, b)
            ptx.st(dtype, ptx.at(Q, i), quotient)
            ptx.st(dtype, ptx.at(R, i), rest)
        ptx.ret()

    found = divide(*(np.array(side, dtype=_numpy(dtype)) for side in zip(*pairs, strict=True)))
    assert [*zip(found[0].tolist(), found[1].tolist(), strict=True)] == [
        divmod(a, b) for a, b in pairs
    ]


def test_what_is_emitted() -> None:
    def write() -> None:
        a, s = reg.scalar(u32), reg.scalar(s32)
        a // 8
        a % 8
        a // 10
        s // 4
        a //= 10
        7 // a

    assert body(write) == [
        "shr.u32 %r2, %r0, 3;",
        "and.b32 %r3, %r0, 7;",
        "mul.hi.u32 %r4, %r0, 3435973837;",
        "shr.u32 %r5, %r4, 3;",
        "shr.s32 %r6, %r1, 2;",
        "mul.hi.u32 %r7, %r0, 3435973837;",
        "shr.u32 %r0, %r7, 3;",
        "div.u32 %r8, 7, %r0;",
    ]


@pytest.mark.parametrize(
    ("write", "code", "words"),
    [
        (lambda: reg.scalar(u32) // 0, "PTX0237", "a divisor must be other than 0"),
        (lambda: reg.scalar(u32) // -1, "PTX0236", "-1 does not fit in .u32"),
        (lambda: reg.scalar(f32) // 2, "PTX0233", "cvt.rmi"),
        (lambda: reg.scalar(f32) % 2.0, "PTX0233", "whole quotients are of integers"),
        (lambda: reg.scalar(u32) / 2, "PTX0233", "`//` gives the whole quotient"),
        (lambda: reg.scalar(u32) // 2.5, "PTX0233", "whole quotients are of integers"),
        (lambda: reg.scalar(b32) // reg.scalar(f32), "PTX0232", "convert one side"),
    ],
)
def test_refused(write: Any, code: str, words: str) -> None:
    error = refusal(write)
    assert error.diagnostics[0].code == code
    assert words in str(error)
