# SPDX-License-Identifier: Apache-2.0
"""Calls of the helpers that every target has: registers, memory, arithmetic, control, output."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.kernel import TensorSpec
from pyptx.types import b8, b16, b32, bf16, f16, f32, f64, pred, s8, s32, u8, u16, u32, u64
from support.helpers.calls import HOPPER_UP, Bench, call

# --- registers ----------------------------------------------------------------------------------


@call("reg.scalar")
def _(k: Bench) -> None:
    for dtype in (u8, u16, u32, u64, s32, f16, bf16, f32, f64):
        reg.scalar(dtype, 3)
    reg.scalar(f32, name="named")
    reg.scalar(f32, reg.scalar(s32, -1))


@call("reg.array")
def _(k: Bench) -> None:
    acc = reg.array(f32, 8, name="acc")
    for i in range(8):
        acc[i] = 1.5
    acc[0] = acc[1] * acc[2]


@call("reg.from_")
def _(k: Bench) -> None:
    reg.from_(k.word(), u64)
    reg.from_(2.5, f32)


@call("reg.alloc")
def _(k: Bench) -> None:
    ptx.mov(u32, reg.alloc(u32), 5)


@call("reg.alloc_array")
def _(k: Bench) -> None:
    for element in reg.alloc_array(f32, 4):
        ptx.mov(f32, element, 0.0)


@call("reg.wgmma_frag")
def _(k: Bench) -> None:
    assert len(reg.wgmma_frag(m=64, n=128, dtype=f32)) == 64


@call("reg.Reg.max")
@call("reg.Reg.min")
def _(k: Bench) -> None:
    a = k.word()
    b = (a + 1) * 3 - (a >> 2) + (a << 1)
    (a ^ b | (a & 7)).max(b).min(9)
    ~(a < b)


@call("reg.RegArray.regs")
@call("reg.RegArray.hw_order")
def _(k: Bench) -> None:
    array = reg.array(f32, 4)
    assert len(array.regs()) == len(array.hw_order()) == len(array.hw_order(reverse=True)) == 4


# --- special registers, parameters, memory ------------------------------------------------------


@call("ptx.special")
def _(k: Bench) -> None:
    for vector in (ptx.special.tid, ptx.special.ntid, ptx.special.ctaid, ptx.special.nctaid):
        vector.x(), vector.y(), vector.z()
    ptx.special.laneid(), ptx.special.warpid(), ptx.special.clock()


@call("ptx.sreg")
def _(k: Bench) -> None:
    ptx.sreg("%lanemask_lt")


@call("ptx.ctaid_x")
def _(k: Bench) -> None:
    ptx.ctaid_x()


@call("ptx.ctaid_y")
def _(k: Bench) -> None:
    ptx.ctaid_y()


@call("ptx.global_ptrs")
def _(k: Bench) -> None:
    ptx.global_ptrs("A", "B")


@call("ptx.param")
def _(k: Bench) -> None:
    ptx.param(u32, "n")
    ptx.param(u32, "n", reg.scalar(u32))


@call("ptx.addr")
@call("ptx.ld")
@call("ptx.st")
def _(k: Bench) -> None:
    p = k.pointer()
    value = reg.scalar(f32)
    ptx.ld(f32, value, ptx.addr(p, 16))
    ptx.ld(f32, [reg.scalar(f32) for _ in range(4)], ptx.addr(p, k.wide(32)), cache="nc")
    ptx.st(f32, ptx.addr(p), value, pred=k.predicate())
    ptx.st(u32, p, 7, cache="cg")
    ptx.ld(bf16, reg.scalar(bf16), ptx.addr(smem.alloc(bf16, (8,)), 4), space="shared")


@call("ptx.cvta.param")
def _(k: Bench) -> None:
    ptx.cvta.param(k.wide())


@call("ptx.cvta.to_global")
def _(k: Bench) -> None:
    ptx.cvta.to_global(ptx.param(u64, "A"))


@call("ptx.var")
def _(k: Bench) -> None:
    ptx.var("local", b8, "stack", size=64, align=16)
    ptx.var("shared", f32, "pool", size=32)
    ptx.ld(f32, reg.scalar(f32), ptx.var("global", f32, "table", size=4), space="global")
    ptx.var("const", u32, "limit")


def _binary(name: str, dtypes: tuple[Any, ...], **options: Any) -> None:
    @call(f"ptx.{name}")
    def _(k: Bench) -> None:
        for dtype in dtypes:
            a, b, d = k.regs(dtype, 1)[0], k.regs(dtype, 1)[0], reg.scalar(dtype)
            getattr(ptx, name)(dtype, d, a, b, **options)


for _name in ("add", "sub", "min", "max"):
    _binary(_name, (u32, s32, u64, f32, f64))
_binary("mul", (u32, s32, u64, f32, f64))
for _name in ("and_", "or_", "xor_"):
    _binary(_name, (b32,))


@call("ptx.mul", "wide")
def _(k: Bench) -> None:
    ptx.mul(u32, reg.scalar(u64), k.word(), 8, mode="wide")


@call("ptx.mad")
def _(k: Bench) -> None:
    ptx.mad(u32, reg.scalar(u32), k.word(), k.word(), 1)
    ptx.mad(f32, reg.scalar(f32), reg.scalar(f32, 1.0), reg.scalar(f32, 2.0), 0.5)


@call("ptx.mov")
@call("ptx.neg")
@call("ptx.abs")
@call("ptx.not_")
def _(k: Bench) -> None:
    value = reg.scalar(s32, -3)
    ptx.mov(u32, reg.scalar(u32), 7)
    ptx.neg(s32, reg.scalar(s32), value)
    ptx.abs(f32, reg.scalar(f32), reg.scalar(f32, -1.0))
    ptx.not_(b32, reg.scalar(b32), reg.scalar(b32, 1))


@call("ptx.shl")
@call("ptx.shr")
def _(k: Bench) -> None:
    ptx.shl(b32, reg.scalar(b32), reg.scalar(b32, 1), 4)
    ptx.shr(s32, reg.scalar(s32), reg.scalar(s32, -8), k.word())


@call("ptx.setp")
@call("ptx.selp")
def _(k: Bench) -> None:
    p = reg.scalar(pred)
    ptx.setp("lt", f32, p, reg.scalar(f32, 1.0), 2.0)
    ptx.selp(u32, reg.scalar(u32), 1, k.word(), p)


@call("ptx.cvt")
def _(k: Bench) -> None:
    ptx.cvt(f16, f32, reg.scalar(f16), reg.scalar(f32, 1.0), rounding="rn")
    ptx.cvt(s32, f32, reg.scalar(s32), reg.scalar(f32, 1.0), rounding="rzi", ftz=True)
    ptx.cvt(u8, s32, reg.scalar(u8), reg.scalar(s32, 300), sat=True)


@call("ptx.inst")
def _(k: Bench) -> None:
    ptx.inst.popc.b32(reg.scalar(u32), k.word())
    ptx.inst.ld.global_.L1__no_allocate.u32(reg.scalar(u32), ptx.addr(k.pointer()))


# --- control ------------------------------------------------------------------------------------


@call("ptx.if_")
@call("ptx.else_")
def _(k: Bench) -> None:
    x = k.word()
    with ptx.if_(x > 3):
        x += 1
        with ptx.if_(~(x > 5)):
            x += 2
    with ptx.else_():
        x -= 1


@call("ptx.loop")
def _(k: Bench) -> None:
    x, p = k.word(), reg.scalar(pred)
    with ptx.loop("again", pred=p):
        x += 1
        ptx.setp("lt", u32, p, x, 10)


@call("ptx.range_")
def _(k: Bench) -> None:
    total = k.word(0)
    for i in ptx.range_(0, ptx.param(u32, "n"), 2):
        total += i
    for i in ptx.range_(8):
        total += i


@call("ptx.kloop")
def _(k: Bench) -> None:
    total = k.word(0)
    ptx.kloop(ptx.param(u32, "n"), unroll=4, body=lambda i: ptx.add(u32, total, total, i))
    ptx.kloop(6, unroll=4, body=lambda i: ptx.add(u32, total, total, i), loop_label="tail")


@call("ptx.scope")
@call("ptx.expr")
def _(k: Bench) -> None:
    with ptx.scope():
        k.word()
    with ptx.expr():
        k.word() * 3 + 1


@call("ptx.label")
@call("ptx.bra")
@call("ptx.ret")
@call("ptx.trap")
def _(k: Bench) -> None:
    ptx.bra("skip", pred=k.predicate())
    ptx.trap(pred=k.predicate())
    ptx.label("skip")
    ptx.ret(pred=k.predicate())


@call("ptx.raw")
@call("ptx.pragma")
@call("ptx.comment")
def _(k: Bench) -> None:
    ptx.raw("{ .reg .b32 %scratch; mov.b32 %scratch, 0; }")
    ptx.pragma("nounroll")
    ptx.comment("two\nlines")


@call("ptx.show")
def _(k: Bench) -> None:
    tile = smem.alloc(f32, (2, 8, 32), swizzle="64B")
    ptx.show(tile)
    ptx.show(tile[1], "the second stage", cta=(1, 0, 0), times=3)


@call("ptx.file_")
@call("ptx.loc")
def _(k: Bench) -> None:
    ptx.file_(1, "kernel.py")
    ptx.loc(1, 10, 5)
    k.word()
    ptx.loc(1, 11)
    k.word()


@call("ptx.pipe")
def _(k: Bench) -> None:
    p, q = reg.scalar(pred), reg.scalar(pred)
    ptx.inst.setp.lt.u32(ptx.pipe(p, q), k.word(), 3)
    ptx.inst.setp.lt.u32(ptx.pipe((p, q)), k.word(), 3)
    ptx.inst.setp.lt.u32(ptx.pipe(p | q), k.word(), 3)


@call("ptx.printf")
def _(k: Bench) -> None:
    ptx.printf("plain 100%%\n")
    ptx.printf(
        "%d %u %5x %lld %f %.3e %g %p %c %d\n",
        reg.scalar(s8, -1), k.word(), reg.scalar(u16, 9), k.wide(), reg.scalar(f32, 1.5),
        reg.scalar(bf16, 2.5), reg.scalar(f64, 3.5), k.pointer(), 65, k.predicate(),
    )  # fmt: skip
    ptx.printf("%*d %f\n", 8, k.word(), 2.0, pred=~k.predicate())


@call("ptx.assert_")
def _(k: Bench) -> None:
    ptx.assert_(k.predicate(), "the count is positive")  # noqa: PT009
    ptx.assert_(~k.predicate(), "the count is zero")  # noqa: PT009


# --- warps and CTAs -----------------------------------------------------------------------------


@call("ptx.warp.reduce_sum")
@call("ptx.warp.reduce_max")
@call("ptx.warp.reduce_min")
def _(k: Bench) -> None:
    ptx.warp.reduce_sum(reg.scalar(f32, 1.0))
    ptx.warp.reduce_max(reg.scalar(s32, 1), width=8)
    ptx.warp.reduce_min(reg.scalar(f64, 1.0), width=16)
    ptx.warp.reduce_sum(reg.scalar(f16, 1.0), width=4)


@call("ptx.bar.sync")
@call("ptx.bar.arrive")
@call("ptx.named_barrier")
@call("ptx.NamedBarrier.sync")
@call("ptx.NamedBarrier.arrive")
def _(k: Bench) -> None:
    ptx.bar.sync()
    ptx.bar.sync(1, 128)
    ptx.bar.arrive(1, 128)
    group = ptx.named_barrier(2, count=64)
    group.sync()
    group.arrive()


@call("ptx.elect_sync", targets=HOPPER_UP)
def _(k: Bench) -> None:
    ptx.elect_sync(reg.scalar(u32), reg.scalar(pred), 0xFFFFFFFF)
    ptx.elect_sync(None, reg.scalar(pred))


# --- shared memory ------------------------------------------------------------------------------


@call("smem.alloc")
@call("smem.SharedAlloc.address")
@call("smem.SharedSlice.address")
def _(k: Bench) -> None:
    tile = smem.alloc(bf16, (2, 64, 64), swizzle="128B", name="tile")
    lane = ptx.special.laneid()
    tile[1, lane, 3] = tile[0, lane, lane]
    ptx.inst.st.shared.u32(ptx.addr(tile[1].address(), 4), lane)
    flat = smem.alloc(f32, (32,), align=256)
    flat[lane] = flat[0] + 1.0


@call("smem.wgmma_tile")
def _(k: Bench) -> None:
    assert smem.wgmma_tile(bf16, (64, 64)).swizzle == "128B"
    smem.wgmma_tile(f16, (32, 64), "MN")


@call("smem.alloc_with_layout")
def _(k: Bench) -> None:
    from pyptx.wgmma_layout import layout_for_a

    smem.alloc_with_layout(bf16, (64, 64), layout_for_a(dtype=bf16, m=64, k=64))


@call("smem.mbarrier")
def _(k: Bench) -> None:
    assert len(smem.mbarrier(4, name="full")) == 4


@call("smem.base")
def _(k: Bench) -> None:
    smem.alloc(f32, (4,), name="block")
    smem.base("block")


@call("smem.load")
@call("smem.store")
def _(k: Bench) -> None:
    flat = smem.alloc(u32, (32,))
    smem.store(u32, flat.address(), smem.load(u32, ptx.addr(flat.address(), 16)))
    smem.store(b16, flat.address(), 7)


@call("smem.apply_swizzle")
def _(k: Bench) -> None:
    assert smem.apply_swizzle(144, "128B") == 128
    smem.apply_swizzle(k.word(), "64B")


@call("ptx.select")
def select(k: Bench) -> None:
    ptx.select(k.predicate(), k.word(), 3)
    ptx.select(~k.predicate(), 0.5, reg.scalar(f32, 1.0))


@call("ptx.at")
@call("ptx.ptr")
def element(k: Bench) -> None:
    tensor = TensorSpec("A", (64, 32), f32)
    ptx.ld(f32, reg.scalar(f32), ptx.at(tensor, k.word(), 3))
    ptx.st(f32, ptx.ptr(tensor, 1, k.word()), 1.0)


@call("ptx.while_")
@call("ptx.break_")
@call("ptx.continue_")
def while_(k: Bench) -> None:
    i = k.word()
    with ptx.while_(lambda: i < 10):
        i += 1
        ptx.continue_(pred=i == 3)
        ptx.break_(pred=i == 7)


@call("ptx.elif_")
def elif_(k: Bench) -> None:
    i = k.word()
    with ptx.if_(i == 1):
        i += 1
    with ptx.elif_(i == 2):
        i += 2


@call("reg.Reg.set")
def set_(k: Bench) -> None:
    k.word().set(k.word() + 1)
