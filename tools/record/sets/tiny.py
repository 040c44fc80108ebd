# SPDX-License-Identifier: Apache-2.0
"""What .ftz flushes: results close to the smallest normal number, on both sides of it.

Rounded to its format's digits with no end of exponents, a result that stays below is flushed, one
that reaches the smallest normal number is not. Operands are chosen so that nearly every result lies
within a few units of there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from record.cases import VERSION
from record.inputs import FORMATS
from record.launch import Bytes, Launch, Part
from record.stream import Stream

_CASES = 4096
_THREADS = 128
_ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class _Case:
    """An instruction with the format of its operands and of its result."""

    name: str
    format: str
    operands: int
    result: str = ""


def _cases() -> Iterator[_Case]:
    for rounding in _ROUNDINGS:
        for ftz in ("", ".ftz"):
            yield _Case(f"mul.{rounding}{ftz}.f32", "f32", 2)
            yield _Case(f"fma.{rounding}{ftz}.f32", "f32", 3)
            yield _Case(f"div.{rounding}{ftz}.f32", "f32", 2)
            yield _Case(f"rcp.{rounding}{ftz}.f32", "f32", 1)
            yield _Case(f"cvt.{rounding}{ftz}.f32.f64", "f64", 1, "f32")
    for sat in ("", ".sat"):
        yield _Case(f"mul.rn.ftz{sat}.f16", "f16", 2)
        yield _Case(f"fma.rn.ftz{sat}.f16", "f16", 3)
    yield _Case("fma.rn.ftz.sat.f32", "f32", 3)
    for mode in ("approx", "full"):
        yield _Case(f"div.{mode}.ftz.f32", "f32", 2)


def _around(values: Bytes, jitter: Bytes) -> Bytes:
    """Move numbers by a few units of their last digit."""
    return (values.view(np.int32) + jitter.astype(np.int32)).view(np.float32)


def _singles(case: _Case, stream: Stream) -> list[Bytes]:
    """Make a, b and c so that a b + c, a / b or 1 / a is close to 2^-126."""
    words = stream.words(_CASES)
    mantissa = (words & np.uint64(0x7FFFFF)).astype(np.uint32)
    sign = (words >> np.uint64(40)).astype(np.uint32) & 1
    exponent = (127 - stream.below(60, _CASES)).astype(np.uint32)
    jitter = stream.below(9, _CASES) - 4
    smallest = np.full(_CASES, 2.0**-126)
    if case.operands == 1:
        near = np.full(_CASES, 253 << 23, np.int32) + (stream.below(33, _CASES) - 16)
        return [(near.astype(np.uint32) | sign << 31).view(np.float32)]
    a = (sign << 31 | exponent << 23 | mantissa).view(np.float32)
    wide = a.astype(np.float64)
    if case.name.startswith("div"):
        b = np.abs(wide) / smallest
        b = np.where(b < 2.0**127, b, 2.0**126).astype(np.float32)
        return [a, _around(b, jitter)]
    b = _around((smallest / np.abs(wide)).astype(np.float32), jitter)
    if case.operands == 2:
        return [a, b]
    kinds = stream.below(4, _CASES)
    rest = smallest * np.sign(wide) - wide * b.astype(np.float64)
    some = [np.zeros(_CASES), rest, 2.0**-126 * np.sign(wide), -(2.0**-126) * np.sign(wide)]
    halved = np.where(kinds > 1, 2.0, 1.0).astype(np.float32)
    return [a, b * halved, np.choose(kinds, some).astype(np.float32)]


def _halves(case: _Case, stream: Stream) -> list[Bytes]:
    form = FORMATS["f16"]
    count = 1 << form.fraction
    a = (1 + stream.below(count, _CASES) / count) * 2.0 ** -stream.below(6, _CASES)
    sign = 1 - 2 * stream.below(2, _CASES)
    b = (2.0**-14 / a).astype(np.float16).view(np.int16) + stream.below(5, _CASES) - 2
    b = b.astype(np.int16).view(np.float16)
    left = (a * sign).astype(np.float16)
    if case.operands == 2:
        return [left, b]
    rest = 2.0**-14 * sign - left.astype(np.float64) * b.astype(np.float64)
    return [left, b, np.where(stream.below(2, _CASES) > 0, rest, 0).astype(np.float16)]


def _doubles(stream: Stream) -> list[Bytes]:
    """Make numbers around 2^-126 by up to two units of f32, down to the last digit of f64."""
    offsets = stream.below(1 << 20, _CASES) - (1 << 19)
    scale = 2.0 ** -(22.0 + stream.below(30, _CASES))
    sign = 1 - 2 * stream.below(2, _CASES)
    return [sign * 2.0**-126 * (1 + offsets / 2.0**19 * scale)]


def _inputs(case: _Case) -> list[Bytes]:
    stream = Stream(f"tiny {case.name}")
    if case.format == "f64":
        return _doubles(stream)
    return _halves(case, stream) if case.format == "f16" else _singles(case, stream)


def _text(case: _Case, target: str) -> str:
    bits = FORMATS[case.format].bits
    width = FORMATS[case.result or case.format].bits
    names = ("a", "b", "c")[: case.operands]
    loads = " ".join(
        f"mad.wide.u32 place, n, {bits // 8}, p{k}; ld.global.b{bits} {name}, [place];"
        for k, name in enumerate(names)
    )
    parameters = ", ".join(f".param .u64 q{k}" for k in range(case.operands + 1))
    pointers = " ".join(f"ld.param.u64 p{k}, [q{k}];" for k in range(case.operands + 1))
    return f""".version {VERSION}
.target {target}
.address_size 64
.visible .entry k({parameters}) {{
.reg .u64 p<4>, place; .reg .u32 n, t; .reg .b{bits} a, b, c; .reg .b{width} r;
mov.u32 n, %ctaid.x; mov.u32 t, %tid.x; mad.lo.u32 n, n, {_THREADS}, t;
{pointers} {loads}
{case.name} r, {", ".join(names)};
mad.wide.u32 place, n, {width // 8}, p{case.operands}; st.global.b{width} [place], r;
ret;
}}
"""


def _launch(case: _Case, target: str) -> Launch:
    inputs = [np.ascontiguousarray(array).view(np.uint8) for array in _inputs(case)]
    element = FORMATS[case.result or case.format].bits // 8

    def describe(number: int) -> str:
        size = FORMATS[case.format].bits // 8
        rows = [array.reshape(-1, size)[number] for array in inputs]
        return ", ".join(f"0x{row.tobytes()[::-1].hex()}" for row in rows)

    part = Part(case.name, len(inputs), 0, element, _CASES, describe)
    return Launch(
        case.name, target, [*inputs, np.zeros(_CASES * element, np.uint8)], [part],
        _text(case, target), grid=(_CASES // _THREADS, 1, 1), block=(_THREADS, 1, 1),
    )  # fmt: skip


class TinySet:
    """Results close to the smallest normal number."""

    name = "tiny"
    about = "results close to the smallest normal number, flushed or not"
    targets: tuple[str, ...] = ("sm_80",)

    def launches(self, target: str) -> Iterator[Launch]:
        """One launch for each instruction."""
        for case in _cases():
            yield _launch(case, target)
