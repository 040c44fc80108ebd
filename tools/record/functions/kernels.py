# SPDX-License-Identifier: Apache-2.0
"""Kernels over blocks of 2^16 inputs of a form: a hash of the answers, or the answers themselves.

The hash of a block is the sum, modulo 2^64, of a mix of every answer and its place in the block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from record.launch import Bytes, Launch, Scalar

BLOCK = 1 << 16
THREADS = 256
TARGET = "sm_90a"

# How an answer is got: from `i`, a 64-bit number, to the 64 bits in `v`.
_MIXED = """\
add.u64 z, i, 1; mul.lo.u64 z, z, 0x9E3779B97F4A7C15; shr.u64 t, z, 30; xor.b64 z, z, t;
mul.lo.u64 z, z, 0xBF58476D1CE4E5B9; shr.u64 t, z, 27; xor.b64 z, z, t;
mul.lo.u64 z, z, 0x94D049BB133111EB; shr.u64 t, z, 31; xor.b64 z, z, t;
cvt.u32.u64 n, i; and.b32 c, n, 7;
"""
_KINDS = {
    "single": "cvt.u32.u64 x, i; {form} y, x; cvt.u64.u32 v, y;",
    "high word": "shl.b64 z, i, 32; {form} v, z;",
    # Random numbers: every eighth subnormal, half of them positive, some infinite or NaN.
    "wide": _MIXED
    + """\
setp.eq.u32 p, c, 0; @p and.b64 z, z, 0x800FFFFFFFFFFFFF;
setp.gt.u32 p, c, 3; @p and.b64 z, z, 0x7FFFFFFFFFFFFFFF;
and.b32 n, n, 63; setp.eq.u32 p, n, 1; @p or.b64 z, z, 0x7FF0000000000000; {form} v, z;""",
    # Random pairs: subnormal, huge, near one, powers of two, any.
    "pair": _MIXED
    + """\
mov.b64 {{x, y}}, z; setp.eq.u32 p, c, 0; @p and.b32 y, y, 0x807FFFFF;
setp.eq.u32 p, c, 1; @p or.b32 y, y, 0x7E800000; setp.eq.u32 p, c, 2; @p and.b32 x, x, 0x807FFFFF;
setp.eq.u32 p, c, 3; @p and.b32 x, x, 0x807FFFFF; @p or.b32 x, x, 0x3F800000;
@p and.b32 y, y, 0x807FFFFF; @p or.b32 y, y, 0x3F800000;
and.b32 n, n, 15; setp.eq.u32 p, n, 12; @p and.b32 y, y, 0xFF800000;
setp.eq.u32 p, n, 4; @p and.b32 x, x, 0xFF800000; {form} y, x, y; cvt.u64.u32 v, y;""",
    "half": "cvt.u16.u64 h, i; {form} h, h; cvt.u64.u16 v, h;",
    "halves": """\
cvt.u32.u64 x, i; mad.lo.u32 y, x, 40503, 12345; shl.b32 y, y, 16; and.b32 x, x, 0xFFFF;
or.b32 x, x, y; {form} y, x; cvt.u64.u32 v, y;""",
}


@dataclass(frozen=True)
class Form:
    """An instruction and the blocks of inputs that it is tried on."""

    name: str
    kind: str
    blocks: int


def _singles() -> list[Form]:
    both = [
        f"{function}.approx{ftz}.f32"
        for function in ("ex2", "rcp", "rsqrt", "sqrt", "lg2", "sin", "cos")
        for ftz in ("", ".ftz")
    ]
    return [Form(name, "single", 1 << 16) for name in [*both, "tanh.approx.f32"]]


FORMS: tuple[Form, ...] = (
    *_singles(),
    Form("rcp.approx.ftz.f64", "high word", 1 << 16),
    Form("rsqrt.approx.ftz.f64", "high word", 1 << 16),
    Form("rsqrt.approx.f64", "wide", 1 << 12),
    *(
        Form(f"div.{mode}{ftz}.f32", "pair", 1 << 12)
        for mode in ("approx", "full")
        for ftz in ("", ".ftz")
    ),
    *(
        Form(f"{name}{width}", "halves" if width else "half", 1)
        for name in ("ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16")
        for width in ("", "x2")
    ),
)

_HEAD = f"""\
.version 8.0
.target {TARGET}
.address_size 64
"""
_REGISTERS = """\
.reg .b64 i, v, z, t, sum, place, out; .reg .b32 x, y; .reg .b16 h; .reg .pred p, done;
.reg .u32 n, c, thread, block, step, turn, k;
mov.u32 thread, %tid.x; mov.u32 block, %ctaid.x; ld.param.u64 out, [p0]; ld.param.u32 step, [p2];
"""


def _hashing(form: Form) -> str:
    answer = _KINDS[form.kind].format(form=form.name)
    return f"""{_HEAD}
.visible .entry k(.param .u64 p0, .param .u32 p1, .param .u32 p2, .param .u32 p3) {{
{_REGISTERS}
ld.param.u32 turn, [p3]; mul.lo.u32 n, block, 37; and.b32 n, n, turn;
mad.lo.u32 n, block, step, n; ld.param.u32 c, [p1]; add.u32 n, n, c;
cvt.u64.u32 i, n; shl.b64 i, i, 16; cvt.u64.u32 t, thread; add.u64 i, i, t;
mov.u32 k, thread; mov.u64 sum, 0;
next:
{answer}
cvt.u64.u32 t, k; mul.lo.u64 t, t, 0x9E3779B97F4A7C15; add.u64 v, v, t;
shr.u64 t, v, 32; xor.b64 v, v, t; mul.lo.u64 v, v, 0xD6E8FEB86659FD93;
shr.u64 t, v, 32; xor.b64 v, v, t; add.u64 sum, sum, v;
add.u64 i, i, {THREADS}; add.u32 k, k, {THREADS}; setp.lt.u32 done, k, {BLOCK}; @done bra next;
mad.lo.u32 n, block, {THREADS}, thread; mad.wide.u32 place, n, 8, out;
st.global.u64 [place], sum;
ret;
}}
"""


def _answering(form: Form) -> str:
    answer = _KINDS[form.kind].format(form=form.name)
    return f"""{_HEAD}
.visible .entry k(.param .u64 p0, .param .u32 p1, .param .u32 p2) {{
{_REGISTERS}
mad.lo.u32 k, block, {THREADS}, thread; ld.param.u32 n, [p1]; mad.lo.u32 n, k, step, n;
cvt.u64.u32 i, n;
{answer}
mad.wide.u32 place, k, 4, out; st.global.u32 [place], v;
ret;
}}
"""


def hashing(form: Form, first: int, count: int, step: int = 1, turn: int = 0) -> Launch:
    """Make the launch that hashes the blocks first + n * step + (37 n & turn), n below count."""
    return Launch(
        form.name, TARGET, [np.zeros(count * THREADS * 8, np.uint8)], [], _hashing(form),
        grid=(count, 1, 1), block=(THREADS, 1, 1),
        params=[0, Scalar(first, 4), Scalar(step, 4), Scalar(turn, 4)],
    )  # fmt: skip


def answering(form: Form, start: int, stride: int, count: int) -> Launch:
    """Make the launch that answers the inputs start + n * stride."""
    return Launch(
        form.name, TARGET, [np.zeros(count * 4, np.uint8)], [], _answering(form),
        grid=(count // THREADS, 1, 1), block=(THREADS, 1, 1),
        params=[0, Scalar(start, 4), Scalar(stride, 4)],
    )  # fmt: skip


def hashes(buffers: list[Bytes]) -> Bytes:
    """Return the hashes of the blocks of a launch."""
    return buffers[0].view(np.uint64).reshape(-1, THREADS).sum(axis=1, dtype=np.uint64)
