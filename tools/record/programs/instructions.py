# SPDX-License-Identifier: Apache-2.0
"""The instructions of random programs, as texts with holes.

A hole is a letter, in capitals where it is written: r and d integers of 32 and 64 bits, f and g f32
and f64, h 16 bits, p a predicate; and only read: i and j integer literals of 32 and 64 bits, c f32,
n 0 to 40, m 0 to 31, b 0 to 255. `~` separates the words of a choice in brackets. Roundings are
spelled out, for ptxas may fuse a product and a sum that have none; divisors are never zero. Bit
fields have literal places inside the register, for ptxas folds others as it likes.
"""

from __future__ import annotations

_ROUND = "[rn~rz~rm~rp]"
_INTEGER = "[u32~s32]"
_WIDE = "[u64~s64]"
_COMPARE = "[eq~ne~lt~le~gt~ge]"
_FLOAT_COMPARE = "[eq~ne~lt~le~gt~ge~equ~neu~ltu~leu~gtu~geu~num~nan]"

INTEGERS = [
    f"[add~sub~min~max].{_INTEGER} R, r, r",
    f"[add~sub~min~max~mul.lo].{_INTEGER} R, r, i",
    f"[mul.lo~mul.hi~mul24.lo~mul24.hi].{_INTEGER} R, r, r",
    f"[mad.lo~mad.hi~mad24.lo~mad24.hi~sad].{_INTEGER} R, r, r, r",
    "[add.sat~sub.sat].s32 R, r, r",
    "mad.hi.sat.s32 R, r, r, r",
    "[abs~neg].s32 R, r",
    "[and~or~xor].b32 R, r, r",
    "[and~or~xor].b32 R, r, i",
    "[not~cnot].b32 R, r",
    "[shl.b32~shr.u32~shr.s32] R, r, n",
    "[shl.b32~shr.u32~shr.s32] R, r, r",
    "[popc~clz~brev].b32 R, r",
    "bfind[~.shiftamt].[u32~s32] R, r",
    f"bfe.{_INTEGER} R, r, m, m",
    f"bfe.{_INTEGER} R, r, r, r",
    "bfi.b32 R, r, r, m, m",
    "bfi.b32 R, r, r, r, r",
    "prmt.b32[~.f4e~.b4e~.rc8~.ecl~.ecr~.rc16] R, r, r, r",
    "lop3.b32 R, r, r, r, b",
    "shf.[l~r].[wrap~clamp].b32 R, r, r, r",
    "dp4a.[u32~s32].[u32~s32] R, r, r, r",
    "dp2a.[lo~hi].[u32~s32].[u32~s32] R, r, r, r",
    "szext.[wrap~clamp].[u32~s32] R, r, r",
    "bmsk.[wrap~clamp].b32 R, r, r",
    "[add~min~max].[u16x2~s16x2] R, r, r",
    "{ .reg .b32 t; or.b32 t, r, 1; [div~rem].u32 R, r, t; }",
    "{ .reg .b32 t; and.b32 t, r, 0x7FFF; or.b32 t, t, 1; [div~rem].s32 R, r, t; }",
    "mov.b64 {R, R}, d",
    "[popc~clz].b64 R, d",
    "bfind.[u64~s64] R, d",
]
WIDE_INTEGERS = [
    f"[add~sub~min~max].{_WIDE} D, d, d",
    f"[mul.lo~mul.hi].{_WIDE} D, d, d",
    f"[mad.lo~mad.hi].{_WIDE} D, d, d, d",
    f"[add~mul.lo].{_WIDE} D, d, j",
    f"mul.wide.{_INTEGER} D, r, r",
    f"mad.wide.{_INTEGER} D, r, r, d",
    "[abs~neg].s64 D, d",
    "[and~or~xor].b64 D, d, d",
    "[not~cnot].b64 D, d",
    "[shl.b64~shr.u64~shr.s64] D, d, n",
    "[shl.b64~shr.u64~shr.s64] D, d, r",
    "brev.b64 D, d",
    f"bfe.{_WIDE} D, d, r, r",
    "bfi.b64 D, d, d, r, r",
    "mov.b64 D, {r, r}",
    "{ .reg .b64 t; or.b64 t, d, 1; [div~rem].u64 D, d, t; }",
    "{ .reg .b64 t; and.b64 t, d, 0x7FFFFFFF; or.b64 t, t, 1; [div~rem].s64 D, d, t; }",
]
# A chain keeps together.
CARRIES = [
    "[add~sub].cc.[u32~s32] R, r, r; [addc~subc].[u32~s32] R, r, r",
    "[add~sub].cc.u32 R, r, r; [addc~subc].cc.u32 R, r, r; [addc~subc].u32 R, r, r",
    "mad.[lo~hi].cc.[u32~s32] R, r, r, r; madc.[lo~hi].[u32~s32] R, r, r, r",
    "mad.lo.cc.u32 R, r, r, r; madc.hi.cc.u32 R, r, r, r; [addc~subc].u32 R, r, 0",
    "sub.cc.u32 R, r, r; madc.[lo~hi].cc.u32 R, r, r, r; subc.u32 R, r, r",
    "[add~sub].cc.[u64~s64] D, d, d; [addc~subc].[u64~s64] D, d, d",
    "mad.lo.cc.u64 D, d, d, d; madc.hi.cc.u64 D, d, d, d; [addc~subc].u64 D, d, d",
]
FLOATS = [
    f"[add~sub~mul].{_ROUND}[~.ftz][~.sat].f32 F, f, f",
    f"fma.{_ROUND}[~.ftz][~.sat].f32 F, f, f, f",
    f"[add~mul].{_ROUND}.f32 F, f, c",
    f"div.{_ROUND}[~.ftz].f32 F, f, f",
    f"[rcp~sqrt].{_ROUND}[~.ftz].f32 F, f",
    "[min~max][~.ftz][~.NaN][~.xorsign.abs].f32 F, f, f",
    "[abs~neg][~.ftz].f32 F, f",
    "copysign.f32 F, f, f",
    "[rcp~sqrt~rsqrt~ex2~lg2~sin~cos].approx[~.ftz].f32 F, f",
    "tanh.approx.f32 F, f",
    "div.[approx~full][~.ftz].f32 F, f, f",
    "mov.b32 F, r",
    "mov.b32 R, f",
]
DOUBLES = [
    f"[add~sub~mul].{_ROUND}.f64 G, g, g",
    f"fma.{_ROUND}.f64 G, g, g, g",
    f"div.{_ROUND}.f64 G, g, g",
    f"[rcp~sqrt].{_ROUND}.f64 G, g",
    "[min~max].f64 G, g, g",
    "[abs~neg].f64 G, g",
    "copysign.f64 G, g, g",
    "rcp.approx.ftz.f64 G, g",
    "rsqrt.approx[~.ftz].f64 G, g",
    "mov.b64 G, d",
    "mov.b64 D, g",
]
HALVES = [
    "[add~sub~mul].rn[~.ftz][~.sat].f16 H, h, h",
    "fma.rn[~.ftz][~.sat~.relu].f16 H, h, h, h",
    "[add~sub~mul].rn.bf16 H, h, h",
    "fma.rn[~.relu].bf16 H, h, h, h",
    "[min~max][~.ftz][~.NaN].f16 H, h, h",
    "[min~max][~.NaN].bf16 H, h, h",
    "[neg~abs].[f16~bf16] H, h",
    "[ex2.approx.f16~ex2.approx.ftz.bf16~tanh.approx.f16~tanh.approx.bf16] H, h",
    "[add~sub~mul].rn[~.ftz][~.sat].f16x2 R, r, r",
    "fma.rn[~.ftz][~.sat~.relu].f16x2 R, r, r, r",
    "fma.rn[~.relu].bf16x2 R, r, r, r",
    "[min~max][~.NaN].[f16x2~bf16x2] R, r, r",
    "[ex2.approx.f16x2~ex2.approx.ftz.bf16x2~tanh.approx.f16x2~tanh.approx.bf16x2] R, r",
    "[add~sub~min~max].[u16~s16] H, h, h",
    "mul.lo.[u16~s16] H, h, h",
    "mul.wide.[u16~s16] R, h, h",
    "mad.lo.[u16~s16] H, h, h, h",
    "[and~or~xor].b16 H, h, h",
    "[shl.b16~shr.u16~shr.s16] H, h, n",
    "mov.b32 {H, H}, r",
    "mov.b32 R, {h, h}",
]
CONVERSIONS = [
    "cvt.[u32~s32].[u8~s8~u16~s16] R, r",
    "cvt[~.sat].[u8~s8~u16~s16].[u32~s32] R, r",
    "cvt.[u32~s32].[u64~s64] R, d",
    "cvt.[u64~s64].[u32~s32] D, r",
    "cvt.[rni~rzi~rmi~rpi][~.ftz].[u32~s32].f32 R, f",
    "cvt.[rni~rzi~rmi~rpi][~.ftz].[u64~s64].f32 D, f",
    "cvt.[rni~rzi~rmi~rpi].[u32~s32].f64 R, g",
    "cvt.[rni~rzi~rmi~rpi].[u64~s64].f64 D, g",
    f"cvt.{_ROUND}.f32.[u32~s32] F, r",
    f"cvt.{_ROUND}.f32.[u64~s64] F, d",
    f"cvt.{_ROUND}.f64.[u32~s32] G, r",
    f"cvt.{_ROUND}.f64.[u64~s64] G, d",
    "cvt[~.ftz].f64.f32 G, f",
    f"cvt.{_ROUND}[~.ftz][~.sat].f32.f64 F, g",
    "cvt.[rn~rz].[f16~bf16].f32 H, f",
    "cvt.f32.[f16~bf16] F, h",
    "cvt.[rni~rzi~rmi~rpi][~.ftz][~.sat].f32.f32 F, f",
    "cvt.[rni~rzi~rmi~rpi].f64.f64 G, g",
    "cvt.[rn~rz][~.relu].[f16x2~bf16x2].f32 R, f, f",
    "cvt.rn.satfinite[~.relu].[e4m3x2~e5m2x2].f32 H, f, f",
    "cvt.rn[~.relu].f16x2.[e4m3x2~e5m2x2] R, h",
    "cvt.rna.tf32.f32 R, f",
    "cvt.pack.sat.[u16~s16].s32 R, r, r",
    "cvt.[rni~rzi~rmi~rpi].[u16~s16].f16 H, h",
    f"cvt.{_ROUND}.f16.[u16~s16] H, h",
]
PREDICATES = [
    f"setp.{_COMPARE}.{_INTEGER} P, r, r",
    f"setp.{_COMPARE}.{_INTEGER} P, r, i",
    f"setp.{_COMPARE}.{_WIDE} P, d, d",
    f"setp.{_FLOAT_COMPARE}[~.ftz].f32 P, f, f",
    f"setp.{_FLOAT_COMPARE}.f64 P, g, g",
    f"setp.{_FLOAT_COMPARE}[~.ftz].f16 P, h, h",
    f"setp.{_COMPARE}.[and~or~xor].{_INTEGER} P, r, r, p",
    f"setp.{_FLOAT_COMPARE}.[and~or~xor].f32 P, f, f, !p",
    "[and~or~xor].pred P, p, p",
    "not.pred P, p",
    "testp.[finite~infinite~number~notanumber~normal~subnormal].f32 P, f",
    f"set.{_COMPARE}.[u32~s32].[u32~s32] R, r, r",
    f"set.{_FLOAT_COMPARE}.[u32~f32].f32 R, f, f",
    "selp.b32 R, r, r, p",
    "selp.b64 D, d, d, p",
    "selp.f32 F, f, f, p",
    "selp.f64 G, g, g, p",
    "selp.b16 H, h, h, p",
    "slct.b32.s32 R, r, r, r",
    "slct[~.ftz].f32.f32 F, f, f, f",
    "slct.b64.s32 D, d, d, r",
]
# ptxas makes several instructions of these, and guards not all of them.
UNGUARDED = ("testp", "set.")
# The payload of a NaN is not defined: where one may come to be, it is made canonical.
NAN_MAKERS = ("neg", "abs", "copysign", "mov", "ld", "selp", "slct", "cvt")
# Only where all lanes of a warp are there.
WARP = [
    "shfl.sync.up.b32 R|P, r, m, 0, -1",
    "shfl.sync.[down~bfly~idx].b32 R|P, r, m, 31, -1",
    "shfl.sync.[bfly~idx~down].b32 R, r, r, 0x181F, -1",
    "shfl.sync.idx.b32 R, r, r, 0x1C1F, -1",
    "vote.sync.ballot.b32 R, p, -1",
    "vote.sync.[any~all~uni].pred P, p, -1",
    "match.any.sync.b32 R, r, -1",
    "{ .reg .b32 t; and.b32 t, r, 3; match.any.sync.b32 R, t, -1; }",
    "match.all.sync.b32 R|P, r, -1",
    "match.any.sync.b64 R, d, -1",
    "redux.sync.[add~min~max].[u32~s32] R, r, -1",
    "redux.sync.[and~or~xor].b32 R, r, -1",
]
PLAIN = [
    (INTEGERS, 5),
    (WIDE_INTEGERS, 3),
    (CARRIES, 2),
    (FLOATS, 5),
    (DOUBLES, 2),
    (HALVES, 3),
    (CONVERSIONS, 3),
    (PREDICATES, 4),
]
