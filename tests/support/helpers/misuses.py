# SPDX-License-Identifier: Apache-2.0
"""What the helpers of registers, memory, arithmetic, control and output must refuse."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.kernel import TensorSpec
from pyptx.types import b32, bf16, f16, f32, pred, u8, u32
from support.helpers.calls import Bench, misuse, outside


def _else_alone(k: Bench) -> None:
    with ptx.else_():
        pass


def _open(construct: Any) -> Any:
    """Enters a construct and never leaves it."""

    def run(k: Bench) -> object:
        construct(k).__enter__()
        return k.trace.finish()

    return run


def _crossed(k: Bench) -> None:
    outer, inner = ptx.expr(), ptx.scope()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)


# --- registers ----------------------------------------------------------------------------------
misuse("reg.scalar", "PTX0236", lambda k: reg.scalar(u8, 256))
misuse("reg.scalar", "PTX0232", lambda k: reg.scalar(f32, k.predicate()))
misuse("reg.scalar", "PTX0235", lambda k: reg.scalar(f32, name="two words"))
misuse("reg.array", "PTX0235", lambda k: reg.array(f32, 4, name="1st"))
misuse("reg.from_", "PTX0232", lambda k: reg.from_(k.predicate(), f32))
outside("reg.alloc", lambda: reg.alloc(u32))
outside("reg.alloc_array", lambda: reg.alloc_array(u32, 4))
misuse("reg.wgmma_frag", "PTX0237", lambda k: reg.wgmma_frag(m=63, n=8, dtype=f32))
misuse("reg.Reg.max", "PTX0232", lambda k: k.word().max(reg.scalar(f32, 1.0)))
misuse("reg.Reg.min", "PTX0233", lambda k: k.predicate().min(k.predicate()))
misuse("reg.RegArray.regs", "PTX0231", lambda k: ptx.mov(u32, _foreign().regs()[0], 1))
misuse("reg.RegArray.hw_order", "PTX0231", lambda k: ptx.mov(u32, _foreign().hw_order()[0], 1))


def _foreign() -> Any:
    """Registers of another kernel."""
    with Bench("sm_90a"):
        return reg.array(u32, 2)


# --- special registers, parameters, memory ------------------------------------------------------
misuse("ptx.special", "PTX0302", lambda k: ptx.special.cluster_ctarank(), "sm_80")
misuse("ptx.sreg", "PTX0239", lambda k: ptx.sreg("%nonsense"))
outside("ptx.ctaid_x", lambda: ptx.ctaid_x())
outside("ptx.ctaid_y", lambda: ptx.ctaid_y())
misuse("ptx.global_ptrs", "PTX0240", lambda k: ptx.global_ptrs("C"))
misuse("ptx.param", "PTX0240", lambda k: ptx.param(u32, "m"))
misuse("ptx.addr", "PTX0237", lambda k: ptx.addr("A", k.word()))
misuse("ptx.addr", "PTX0237", lambda k: ptx.addr(k.pointer(), 1.5))
misuse("ptx.ld", "PTX0206", lambda k: ptx.ld(f32, k.wide(), k.pointer()))
misuse("ptx.ld", "PTX0202", lambda k: ptx.ld(f32, reg.scalar(f32), k.pointer(), space="here"))
misuse("ptx.st", "PTX0236", lambda k: ptx.st(u8, k.pointer(), 300))
misuse("ptx.st", "PTX0209", lambda k: ptx.st(u32, k.pointer(), 1, pred=k.word()))
misuse("ptx.cvta.param", "PTX0206", lambda k: ptx.cvta.param(reg.scalar(f32, 1.0)))
misuse("ptx.cvta.to_global", "PTX0206", lambda k: ptx.cvta.to_global(k.word()))
misuse("ptx.var", "PTX0237", lambda k: ptx.var("heap", f32, "x"))
misuse("ptx.var", "PTX0237", lambda k: ptx.var("local", f32, "x", align=3))

# --- arithmetic ---------------------------------------------------------------------------------
for _name in ("add", "sub", "mul", "min", "max"):
    misuse(
        f"ptx.{_name}",
        "PTX0206",
        lambda k, n=_name: getattr(ptx, n)(f32, reg.scalar(f32), k.word(), k.wide()),
    )
for _name in ("and_", "or_", "xor_"):
    misuse(
        f"ptx.{_name}",
        "PTX0202",
        lambda k, n=_name: getattr(ptx, n)(f32, reg.scalar(f32), k.word(), k.word()),
    )
misuse("ptx.mad", "PTX0204", lambda k: ptx.mad(u32, reg.scalar(u32), k.word(), 2))
misuse("ptx.mov", "PTX0206", lambda k: ptx.mov(u32, reg.scalar(u32), k.wide()))
misuse("ptx.neg", "PTX0202", lambda k: ptx.neg(u32, reg.scalar(u32), k.word()))
misuse("ptx.abs", "PTX0202", lambda k: ptx.abs(u32, reg.scalar(u32), k.word()))
misuse("ptx.not_", "PTX0202", lambda k: ptx.not_(f32, reg.scalar(f32), reg.scalar(f32, 1.0)))
misuse("ptx.shl", "PTX0206", lambda k: ptx.shl(b32, reg.scalar(b32), k.wide(), 1))
misuse("ptx.shr", "PTX0204", lambda k: ptx.shr(u32, reg.scalar(u32), k.word()))
misuse("ptx.setp", "PTX0202", lambda k: ptx.setp("below", u32, reg.scalar(pred), k.word(), 1))
misuse("ptx.setp", "PTX0205", lambda k: ptx.setp("lt", u32, k.word(), k.word(), 1))
misuse("ptx.selp", "PTX0205", lambda k: ptx.selp(u32, reg.scalar(u32), 1, 2, k.word()))
misuse("ptx.cvt", "PTX0210", lambda k: ptx.cvt(f16, f32, reg.scalar(f16), reg.scalar(f32, 1.0)))
misuse("ptx.inst", "PTX0201", lambda k: ptx.inst.ad.s32(k.word(), 1, 2))
misuse("ptx.inst", "PTX0234", lambda k: ptx.inst.add.u32(k.word(), object(), 2))

# --- control ------------------------------------------------------------------------------------
misuse("ptx.if_", "PTX0209", lambda k: ptx.if_(k.word()).__enter__())
misuse("ptx.if_", "PTX0403", _open(lambda k: ptx.if_(k.predicate())))
misuse("ptx.else_", "PTX0402", _else_alone)
misuse("ptx.loop", "PTX0403", _open(lambda k: ptx.loop("again", pred=k.predicate())))
misuse("ptx.range_", "PTX0237", lambda k: ptx.range_(0, 8, 0).__enter__())
misuse("ptx.kloop", "PTX0237", lambda k: ptx.kloop(8, unroll=0, body=print))
misuse("ptx.scope", "PTX0403", _open(lambda k: ptx.scope()))
misuse("ptx.expr", "PTX0404", _crossed)
misuse("ptx.label", "PTX0406", lambda k: (ptx.label("here"), ptx.label("here")))
misuse("ptx.bra", "PTX0405", lambda k: (ptx.bra("nowhere"), k.trace.finish()))
misuse("ptx.ret", "PTX0209", lambda k: ptx.ret(pred=k.word()))
misuse("ptx.trap", "PTX0209", lambda k: ptx.trap(pred=3))
outside("ptx.raw", lambda: ptx.raw("ret;"))
misuse("ptx.pragma", "PTX0237", lambda k: ptx.pragma('un"quoted'))
outside("ptx.comment", lambda: ptx.comment("words"))
misuse("ptx.show", "PTX0237", lambda k: ptx.show(k.word()))
misuse("ptx.show", "PTX0237", lambda k: ptx.show(smem.alloc("f32", (8,)), times=0))
misuse("ptx.file_", "PTX0237", lambda k: ptx.file_(0, "kernel.py"))
misuse("ptx.file_", "PTX0238", lambda k: (ptx.file_(1, "a.py"), ptx.file_(1, "b.py")))
misuse("ptx.loc", "PTX0237", lambda k: ptx.loc(3, 1))
misuse("ptx.pipe", "PTX0237", lambda k: ptx.pipe(reg.scalar(pred)))
misuse("ptx.pipe", "PTX0237", lambda k: ptx.pipe(reg.scalar(pred), 3))

# --- output -------------------------------------------------------------------------------------
for _format, _values in {
    "%d": lambda k: (k.wide(),),
    "%lld": lambda k: (k.word(),),
    "%f": lambda k: (k.word(),),
    "%u": lambda k: (reg.scalar(f32, 1.0),),
    "%p": lambda k: (k.word(),),
    "%s": lambda k: (k.word(),),
    "%x %x": lambda k: (k.word(),),
    "none": lambda k: (k.word(),),
    "%y": lambda k: (k.word(),),
    "50%": lambda k: (),
}.items():
    misuse("ptx.printf", "PTX0242", lambda k, f=_format, v=_values: ptx.printf(f, *v(k)))
misuse("ptx.printf", "PTX0234", lambda k: ptx.printf("%d", "text"))
misuse("ptx.printf", "PTX0209", lambda k: ptx.printf("x", pred=k.word()))
misuse("ptx.assert_", "PTX0209", lambda k: ptx.assert_(k.word(), "positive"))  # noqa: PT009
misuse("ptx.assert_", "PTX0209", lambda k: ptx.assert_(None, "positive"))  # noqa: PT009

# --- warps and CTAs -----------------------------------------------------------------------------
misuse("ptx.warp.reduce_sum", "PTX0237", lambda k: ptx.warp.reduce_sum(k.word(), width=3))
misuse("ptx.warp.reduce_max", "PTX0233", lambda k: ptx.warp.reduce_max(k.predicate()))
misuse("ptx.warp.reduce_min", "PTX0237", lambda k: ptx.warp.reduce_min(k.word(), width=64))
misuse("ptx.bar.sync", "PTX0208", lambda k: ptx.bar.sync(16))
misuse("ptx.bar.arrive", "PTX0208", lambda k: ptx.bar.arrive(1, 33))
misuse("ptx.named_barrier", "PTX0208", lambda k: ptx.named_barrier(99).sync())
misuse("ptx.NamedBarrier.sync", "PTX0206", lambda k: ptx.named_barrier(k.wide()).sync())
misuse("ptx.NamedBarrier.arrive", "PTX0234", lambda k: ptx.named_barrier(1).arrive())
misuse("ptx.elect_sync", "PTX0205", lambda k: ptx.elect_sync(k.word(), k.word(), 1))

# --- shared memory ------------------------------------------------------------------------------
misuse("smem.alloc", "PTX0501", lambda k: smem.alloc(bf16, (64, 20), swizzle="32B"))
misuse("smem.alloc", "PTX0504", lambda k: smem.alloc(bf16, (64, 64), swizzle="128B", align=128))
misuse("smem.alloc", "PTX0237", lambda k: smem.alloc(bf16, (64, -1)))
misuse("smem.alloc", "PTX0502", lambda k: smem.alloc(f32, (2, 4))[2])
misuse("smem.alloc", "PTX0503", lambda k: smem.alloc(f32, (2, 4))[0, 0, 0])
misuse("smem.wgmma_tile", "PTX0237", lambda k: smem.wgmma_tile(bf16, (64, 64), "M"))
misuse("smem.wgmma_tile", "PTX0501", lambda k: smem.wgmma_tile(u8, (64, 64), "MN"))


class _Layout:
    smem_swizzle = "96B"


misuse(
    "smem.alloc_with_layout", "PTX0237", lambda k: smem.alloc_with_layout(bf16, (64, 64), _Layout())
)
misuse("smem.mbarrier", "PTX0501", lambda k: smem.mbarrier(0))
misuse("smem.mbarrier", "PTX0502", lambda k: smem.mbarrier(2)[2])
misuse("smem.base", "PTX0501", lambda k: smem.base())
misuse("smem.load", "PTX0237", lambda k: smem.load(u32, 3.5))
misuse("smem.store", "PTX0206", lambda k: smem.store(u32, k.tile(), k.predicate()))
misuse("smem.apply_swizzle", "PTX0237", lambda k: smem.apply_swizzle(k.word(), "96B"))
misuse("smem.SharedAlloc.address", "PTX0508", lambda k: _foreign_tile().address())
misuse("smem.SharedSlice.address", "PTX0508", lambda k: _foreign_tile()[1].address())


def _foreign_tile() -> Any:
    """Shared memory of another kernel."""
    with Bench("sm_90a"):
        return smem.alloc(f32, (2, 4))


misuse("ptx.select", "PTX0205", lambda k: ptx.select(k.word(), 1, 0))
misuse("ptx.select", "PTX0232", lambda k: ptx.select(k.predicate(), k.word(), reg.scalar(f32)))
misuse("ptx.at", "PTX0502", lambda k: ptx.at(TensorSpec("A", (4, 4), f32), 4))
misuse("ptx.at", "PTX0503", lambda k: ptx.at(TensorSpec("A", (4, 4), f32), 0, 0, 0))
misuse("ptx.ptr", "PTX0237", lambda k: ptx.ptr(TensorSpec("A"), 0))
misuse("ptx.ptr", "PTX0237", lambda k: ptx.ptr("A", 0))
misuse("ptx.while_", "PTX0209", lambda k: ptx.while_(k.word()).__enter__())
misuse("ptx.break_", "PTX0408", lambda k: ptx.break_())
misuse("ptx.continue_", "PTX0408", lambda k: ptx.continue_())
misuse("ptx.elif_", "PTX0417", lambda k: ptx.elif_(k.predicate()).__enter__())
misuse("reg.Reg.set", "PTX0232", lambda k: k.word().set(k.wide()))
