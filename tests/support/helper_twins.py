# SPDX-License-Identifier: Apache-2.0
"""Every helper of the author's vocabulary, in kernels that tests/install/twins.cpp has too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyptx
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import (
    b8,
    b32,
    bf16,
    f16,
    f32,
    f64,
    pred,
    s32,
    u8,
    u32,
    u64,
)  # fmt: skip

tc = ptx.tcgen05
bulk = ptx.cp.async_.bulk
TWINS: dict[str, Any] = {}


def twin(arch: str = "sm_90a") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The text of a body, as a kernel of two tensors and a number."""

    def add(body: Callable[..., None]) -> Callable[..., None]:
        TWINS[body.__name__] = kernel(
            body, in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(1, 1, 1),
            raw_params=[("u32", "n")], arch=arch,
        )  # fmt: skip
        return body

    return add


def text(name: str) -> str:
    return str(TWINS[name].ptx(N=128, n=1))


def word(value: int = 1) -> Any:
    return reg.scalar(u32, value)


def wide() -> Any:
    return reg.scalar(u64, 1)


def tile_of() -> Any:
    return smem.alloc(bf16, (64, 64), swizzle="128B")


@twin()
def registers(A, B):
    a = word()
    acc = reg.array(f32, 4, name="acc")
    for i in range(4):
        acc[i] = 1.5
    acc[0] = acc[1] * acc[2]
    b = reg.from_(a, u64) + 3
    reg.from_(2.5, f32)
    reg.scalar(f32, reg.scalar(s32, -1), name="named")
    c = (a ^ 5).max(a).min(9)
    d = -c
    abs(reg.scalar(f32, -1.0))
    ptx.not_(b32, d, c)
    b += 4
    reg.wgmma_frag(m=64, n=16, dtype=f32)
    ptx.sreg("%lanemask_lt")
    ptx.special.ctaid.x()
    ptx.special.laneid()


@twin()
def forms(A, B):
    for dtype in (u32, s32, u64, f32, f64):
        a = reg.scalar(dtype, 1)
        d = reg.scalar(dtype)
        ptx.add(dtype, d, a, 2)
        ptx.sub(dtype, d, a, 2)
        ptx.mul(dtype, d, a, a)
        ptx.min(dtype, d, a, d)
        ptx.max(dtype, d, a, d)
        ptx.mad(dtype, d, a, a, d)
        ptx.mov(dtype, d, 7)
    p = reg.scalar(pred)
    x = reg.scalar(s32, -3)
    ptx.neg(s32, x, x)
    ptx.abs(s32, x, x, pred=p)
    ptx.mul(u32, reg.scalar(u64), word(), 8, mode="wide")
    ptx.mad(u32, word(), word(), word(), 1, mode="hi")
    bits = reg.scalar(b32, 1)
    ptx.and_(b32, bits, bits, 3)
    ptx.or_(b32, bits, bits, 4)
    ptx.xor_(b32, bits, bits, 5)
    ptx.not_(b32, bits, bits)
    ptx.shl(b32, bits, bits, 4)
    ptx.shr(s32, x, x, 2, pred=~p)
    ptx.setp("lt", f32, p, reg.scalar(f32, 1.0), 2)
    ptx.selp(u32, word(), 1, 2, p)
    ptx.cvt(f16, f32, reg.scalar(f16), reg.scalar(f32, 1.0), rounding="rn")
    ptx.cvt(s32, f32, reg.scalar(s32), reg.scalar(f32, 1.0), rounding="rzi", ftz=True)
    ptx.cvt(u8, s32, reg.scalar(u8), x, sat=True)
    ptx.inst.popc.b32(word(), bits, pred=p)


@twin()
def memory(A, B):
    pa, pb = ptx.global_ptrs(A, B)
    ptx.global_ptrs(A)
    n = ptx.param(u32, "n")
    ptx.param(u32, "n", n)
    ptx.cvta.param(wide())
    ptx.cvta.to_global(ptx.param(u64, "A"))
    x = reg.scalar(f32)
    ptx.ld(f32, x, ptx.addr(pa, 16))
    ptx.ld(f32, [x, reg.scalar(f32)], ptx.addr(pa), cache="nc")
    ptx.st(f32, ptx.addr(pb), x, pred=n > 3)
    ptx.st(u32, pb, 7, cache="cg")
    ptx.var("local", b8, "stack", size=64, align=16)
    ptx.ld(f32, x, ptx.var("global", f32, "table", size=4, linking="visible"))
    p = reg.scalar(pred)
    ptx.inst.setp.lt.u32(ptx.pipe(p, reg.scalar(pred)), n, 3)
    ptx.inst.tex._2d.v4.f32.s32([x, x, x, x], ptx.addr(wide(), [n, n]))


@twin()
def shared(A, B):
    tile = smem.alloc(bf16, (2, 64, 64), swizzle="128B", name="tile")
    lane = ptx.special.laneid()
    tile[1, lane, 3] = tile[0, lane, lane]
    ptx.inst.st.shared.u32(ptx.addr(tile[1].address(), 4), lane)
    flat = smem.alloc(f32, (32,), align=256)
    flat[lane] = flat[0] + 1.0
    smem.store(u32, flat.address(), smem.load(u32, flat.address()))
    smem.wgmma_tile(f16, (32, 64), "MN")
    smem.base("tile")
    smem.apply_swizzle(lane, "64B")
    smem.mbarrier(4, name="full")


@pyptx.intrinsic
def helper(x):
    x += 3


@twin()
def control(A, B):
    x = word()
    n = ptx.param(u32, "n")
    with ptx.if_(x > 3):
        x += 1
        with ptx.if_(~(x > 5)):
            x += 2
    with ptx.else_():
        x -= 1
    p = reg.scalar(pred)
    with ptx.loop("again", pred=p):
        x += 1
        ptx.setp("lt", u32, p, x, 10)
    for i in ptx.range_(0, n, 2):
        x += i
    ptx.kloop(n, unroll=4, body=lambda i: ptx.add(u32, x, x, i))
    with ptx.scope():
        word()
    helper(x)
    ptx.bra("skip", pred=p)
    ptx.trap(pred=~p)
    ptx.label("skip")
    ptx.comment("two\nlines")
    ptx.raw("{ .reg .b32 %scratch; mov.b32 %scratch, 0; }")
    ptx.pragma("nounroll")
    ptx.printf("%d %f\n", x, 2.5, pred=p)
    ptx.file_(1, "kernel.py")
    ptx.loc(1, 10, 5)
    ptx.ret(pred=p)


@twin()
def warps(A, B):
    ptx.warp.reduce_sum(reg.scalar(f32, 1.0))
    ptx.warp.reduce_max(reg.scalar(s32, 1), width=8)
    ptx.warp.reduce_min(reg.scalar(f64, 1.0), width=16)
    p = reg.scalar(pred)
    ptx.elect_sync(word(), p, 0xFFFFFFFF)
    ptx.elect_sync(None, p)
    ptx.bar.sync()
    ptx.bar.sync(1, 128)
    ptx.bar.arrive(1, 128)
    group = ptx.named_barrier(2, count=64)
    group.sync()
    group.arrive()
    ptx.fence.proxy_async()
    ptx.fence.proxy_async_global()
    ptx.fence.proxy_async_shared_cta()
    ptx.fence.proxy_async_generic_acquire_shared_cluster()
    ptx.fence.proxy_async_generic_release_shared_cta()
    ptx.fence.proxy_tensormap_release()
    ptx.fence.proxy_tensormap_acquire(wide(), "cta")
    ptx.fence.mbarrier_init()
    ptx.fence.acq_rel("cluster")
    ptx.fence.sc("cta")
    ptx.setmaxnreg_dec(40)
    ptx.cluster.arrive(aligned=True)
    ptx.cluster.wait(aligned=True)
    ptx.cluster.sync()
    ptx.cluster.rank()
    bars = smem.mbarrier(1)
    ptx.cluster.map_shared_u32(bars[0], 1)
    ptx.cluster.arrive_remote(bars[0], 0, 3)
    ptx.cluster.arrive_multicast(bars[0], 5)


@twin()
def mbarriers(A, B):
    bars = smem.mbarrier(2)
    p = word() > 0
    bars[0].init(1)
    bars.init_all(4, pred=p)
    bars[0].arrive(4, pred=p)
    state = ptx.mbarrier.arrive_state(bars[1])
    ptx.mbarrier.pending_count(state)
    ptx.mbarrier.arrive_drop(bars[1], 2)
    bars[0].arrive_expect_tx(8192, pred=p)
    bars[0].expect_tx(64)
    ptx.mbarrier.complete_tx(bars[0], 64)
    bars[0].arrive_remote(1, 2)
    bars.arrive_remote_all(1, 2, pred=p)
    bars[0].try_wait(0)
    ptx.mbarrier.test_wait(bars[0], state, parity=False)
    bars[1].wait(1)
    bars[0].inval()
    more = ptx.mbarrier.array(smem.alloc(u64, (8,)).address(), 16, 4)
    ptx.mbarrier.arrive(more.at(word()))
    ptx.pipeline(4).advance()


@twin()
def copies(A, B):
    tile = smem.alloc(bf16, (64, 64))
    (p,) = ptx.global_ptrs(A)
    bars = smem.mbarrier(1)
    ptx.cp.async_.ca(tile, ptx.addr(p, 8), 8, src_bytes=word(4))
    ptx.cp.async_.cg(tile, ptx.addr(p, 16), 16, pred=p > 0)
    ptx.cp.async_.commit_group()
    ptx.cp.async_.wait_group(1)
    ptx.cp.async_.wait_all()
    bulk.load(dst=tile, src=p, bytes=1024, mbar=bars[0])
    bulk.load(dst=tile, src=p, bytes=word(64), mbar=bars[0], multicast_mask=3)
    bulk.store(dst=p, src=tile, bytes=1024)
    bulk.reduce(dst=p, src=tile, bytes=256, dtype=f32)
    bulk.reduce(dst=p, src=tile, bytes=256, dtype=u64, op="max")
    bulk.prefetch(src=p, bytes=4096)
    remote = ptx.cluster.map_shared_u32(tile, 1)
    bulk.copy_to_cluster(
        dst=remote, src=tile, bytes=256, mbar=ptx.cluster.map_shared_u32(bars[0], 1)
    )
    tensor_map = A.tma_desc()
    x = word(0)
    bulk.tensor.tile_2d(dst=tile, src=tensor_map, coord=(x, 1), mbar=bars[0])
    bulk.tensor_3d(
        dst=tile, src=tensor_map, coord=(x, 1, 2), mbar=bars[0], multicast_mask=3,
        cache_policy=wide(),
    )  # fmt: skip
    bulk.tensor.store_2d(dst=tensor_map, src=tile, coord=(x, 1), pred=x > 0)
    bulk.tensor.reduce_1d(dst=tensor_map, src=tile, coord=(x,), op="add")
    bulk.tensor.prefetch_4d(src=tensor_map, coord=(x, 1, 2, 3))
    bulk.commit_group()
    bulk.wait_group(1, read=True)


@twin("sm_100a")
def rows(A, B):
    tile = tile_of()
    bars = smem.mbarrier(1)
    tensor_map = A.tma_desc()
    x = word(0)
    at = (x, 3, 1, 4, 1)
    bulk.gather4_2d(dst=tile, src=tensor_map, coord=at, mbar=bars[0], cta_group=2)
    bulk.scatter4_2d(dst=tensor_map, src=tile, coord=at)
    bulk.tensor.prefetch_gather4_2d(src=tensor_map, coord=at)


@twin()
def matrices(A, B):
    c = reg.array(f32, 4)
    a = reg.array(b32, 4)
    b = reg.array(b32, 2)
    tile = tile_of()
    ptx.ldmatrix(dst=a, src=tile)
    ptx.ldmatrix(dst=b, src=tile, layout="x2", trans=True)
    ptx.mma.sync(
        shape=(16, 8, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, dtype_c=f32, d=c, a=a, b=b, c=c
    )
    ptx.stmatrix(smem=tile, regs=a)
    frag = reg.wgmma_frag(m=64, n=16, dtype=f32)
    lane = ptx.special.laneid()
    ptx.stmatrix_x4_trans_f32_bf16(frag=frag, smem_base=tile, lane=lane, row_stride=128)


@twin()
def warpgroups(A, B):
    a = smem.wgmma_tile(bf16, (64, 64))
    b = smem.wgmma_tile(bf16, (128, 64))
    acc = reg.wgmma_frag(m=64, n=128, dtype=f32)
    ptx.wgmma.fence()
    ptx.wgmma.mma_async(
        shape=(64, 128, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=acc, a=a, b=b,
        scale_d=True, b_k_offset=16,
    )  # fmt: skip
    ptx.wgmma.commit_group()
    ptx.wgmma.wait_group(0)
    ptx.wgmma.make_descriptor(a, leading_byte_offset=16, stride_byte_offset=1024, swizzle=1)
    ptx.wgmma.auto_descriptor(a, dtype=bf16, shape=(64, 64), major="K")
    ptx.wgmma.masked_descriptor(a, byte_offset=32)


@twin("sm_100a")
def tensor_memory(A, B):
    slot = smem.alloc(u32, (1,))
    a = smem.wgmma_tile(bf16, (128, 64))
    b = smem.wgmma_tile(bf16, (64, 64))
    bars = smem.mbarrier(1)
    tmem = reg.scalar(b32, 0)
    tc.alloc(slot, 512)
    tc.relinquish_alloc_permit()
    p = word() > 0
    kind = tc.make_instr_desc_f16bf16_f32(n=64)
    tc.mma(tmem, a, b, kind, enable_input_d=p, pred=p)
    first = tc.masked_descriptor(a)
    second = tc.masked_descriptor(b, byte_offset=64)
    tc.mma(tmem, first, second, kind, enable_input_d=False, collector_a="fill")
    tc.commit(bars[0])
    tc.commit(bars[0], multicast_mask=3, pred=p)
    values = reg.array(b32, 4)
    tc.ld(values, ptx.addr(tmem, 64), shape="32x32b", count=4)
    tc.wait_ld()
    tc.st(tmem, values, shape="32x32b", count=4)
    tc.wait_st()
    matrix = tc.descriptor(a, stride_bytes=1024)
    tc.cp(tmem, matrix, size="128x256b")
    tc.cp(ptx.addr(tmem, 4), matrix, size="32x128b", multicast="warpx4")
    tc.shift(tmem)
    tc.auto_descriptor(a, dtype=bf16, shape=(128, 64), major="K")
    tc.fence_before_thread_sync()
    tc.fence_after_thread_sync()
    tc.dealloc(tmem, 512)
    tc.alloc(slot, 96, exclusive=True)
    tc.dealloc(tmem, 96, exclusive=True)


@twin("sm_103a")
def reductions(A, B):
    least = reg.scalar(f32)
    values, tmem = reg.array(f32, 4), reg.scalar(b32, 0)
    tc.ld_red(values, least, tmem, op="max", dtype=f32, shape="32x32b", count=4, abs=True)
