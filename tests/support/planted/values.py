# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of values that nobody wrote. See planted_bugs.

Most of the correct versions read what has no value as well, and do nothing with it.
"""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import b16, b32, b64, bf16, f32, pred, u32
from support.planted.bugs import (
    SMALL,
    bulk_in,
    bulk_out,
    case,
    copy_word,
    load,
    make_barrier,
    put,
    put_float,
    store,
    thread,
)
from support.planted.matrices import small_tiles
from support.planted.tensor_memory import WORD, allocated, free_all, own, tensor_case

I = ptx.inst  # noqa: E741
ALL = 0xFFFFFFFF


def slot(y: Any) -> Any:
    """The thread's own word of the output."""
    return ptx.addr(y + thread() * 4)


@case("PTX0921")
def summed_in_a_loop(x: Any, y: Any, *, broken: bool) -> None:
    total = reg.scalar(f32)
    if not broken:
        I.mov.f32(total, 0.0)
    with ptx.range_(0, 4):
        I.add.f32(total, total, 1.0)
    put_float(slot(y), total)  # guilty


@case("PTX0921")
def sum_of_which_one_lane_has_no_part(x: Any, y: Any, *, broken: bool) -> None:
    part = reg.scalar(u32)
    with ptx.if_(thread() < (63 if broken else 64)):
        I.mov.u32(part, 1)
    I.add.u32(part, part, 1)
    put(slot(y), part)  # guilty


@case("PTX0921")
def branch_on_a_predicate(x: Any, y: Any, *, broken: bool) -> None:
    is_set = reg.scalar(pred)
    if not broken:
        I.setp.eq.u32(is_set, thread(), 0)
    with ptx.if_(is_set):  # guilty
        put(slot(y), 1)


@case("PTX0921")
def predicate_of_a_comparison(x: Any, y: Any, *, broken: bool) -> None:
    limit, is_below = reg.scalar(u32), reg.scalar(pred)
    if not broken:
        I.mov.u32(limit, 7)
    I.setp.eq.u32(is_below, limit, 7)
    with ptx.if_(is_below):  # guilty
        put(slot(y), 1)


@case("PTX0921")
def address_of_a_load(x: Any, y: Any, *, broken: bool) -> None:
    index, address, value = reg.scalar(u32), reg.scalar(b64), reg.scalar(u32)
    if not broken:
        I.mov.u32(index, 1)
    I.mad.wide.u32(address, index, 4, x)
    I.ld.global_.u32(value, ptx.addr(address))  # guilty
    put(slot(y), value)


@case("PTX0921")
def barrier_number(x: Any, y: Any, *, broken: bool) -> None:
    number = reg.scalar(u32)
    if not broken:
        I.mov.u32(number, 1)
    I.bar.sync(number)  # guilty
    put(slot(y), 1)


@case("PTX0921")
def half_of_a_packed_register(x: Any, y: Any, *, broken: bool) -> None:
    low, high, both = reg.scalar(b16), reg.scalar(b16), reg.scalar(b32)
    I.mov.b16(low, 7)
    I.mov.b32(both, [low, high])
    if not broken:
        I.and_.b32(both, both, 0xFFFF)
    put(slot(y), both)  # guilty


@case("PTX0921", threads=32)
def shuffle_from_a_lane_without_a_value(x: Any, y: Any, *, broken: bool) -> None:
    value, got = reg.scalar(b32), reg.scalar(b32)
    with ptx.if_(thread() < 31):
        I.mov.b32(value, thread())
    I.shfl.sync.down.b32(got, value, 1, 31, ALL)
    with ptx.if_(thread() < (31 if broken else 30)):  # lane 31 keeps its own, nobody's
        put(slot(y), got)  # guilty


@case("PTX0921")
def select_that_takes_it(x: Any, y: Any, *, broken: bool) -> None:
    value, chosen, is_first = reg.scalar(b32), reg.scalar(b32), reg.scalar(pred)
    with ptx.if_(thread() < 32):
        I.mov.b32(value, 5)
    I.setp.lt.u32(is_first, thread(), 33 if broken else 32)
    I.selp.b32(chosen, value, 0, is_first)
    put(slot(y), chosen)  # guilty


@case("PTX0921", threads=32)
def vote_of_a_lane_without_a_value(x: Any, y: Any, *, broken: bool) -> None:
    mine, ballot = reg.scalar(pred), reg.scalar(b32)
    with ptx.if_(thread() < 16):
        I.setp.eq.u32(mine, thread(), 3)
    I.vote.sync.ballot.b32(ballot, mine, ALL)
    if not broken:
        I.and_.b32(ballot, ballot, 0xFFFF)
    put(slot(y), ballot)  # guilty


@case("PTX0921")
def carry_out_of_nothing(x: Any, y: Any, *, broken: bool) -> None:
    low, high = reg.scalar(u32), reg.scalar(u32)
    if not broken:
        I.mov.u32(low, ALL)
    I.add.cc.u32(low, low, 1)
    I.addc.u32(high, 0, 0)
    put(slot(y), high)  # guilty


@case("PTX0921", threads=32)
def row_of_a_product(x: Any, y: Any, *, broken: bool) -> None:
    """Rows 8 to 15 of A have no value; rows 0 to 7 of the result do not depend on them."""
    a, b, d = reg.array(b32, 2), reg.array(b32, 1), reg.array(f32, 4)
    zero = reg.array(f32, 4)
    I.mov.b32(a[0], 0x3F803F80)
    I.mov.b32(b[0], 0x3F803F80)
    for i in range(4):
        I.mov.f32(zero[i], 0.0)
    mma = I.mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
    mma([*d], [*a], [*b], [*zero])
    put_float(slot(y), d[2 if broken else 0])  # guilty


@case("PTX0921", threads=128)
def fresh_accumulators_of_wgmma(x: Any, y: Any, *, broken: bool) -> None:
    a, b = small_tiles()
    acc = reg.wgmma_frag(m=64, n=8, dtype=f32)
    ptx.wgmma.fence()
    for turn in range(2):
        first = {**SMALL, "scale_d": broken or turn > 0}
        ptx.wgmma.mma_async(d=acc, a=a, b=b, **first)
    ptx.wgmma.commit_group()
    ptx.wgmma.wait_group(0)
    put_float(slot(y), acc[0])  # guilty


@case("PTX0921", threads=128)
def wgmma_of_a_tile_filled_in_part(x: Any, y: Any, *, broken: bool) -> None:
    a = smem.alloc(bf16, (64, 64), swizzle="128B", name="tile_a")
    b = smem.alloc(bf16, (8, 64), swizzle="128B", name="tile_b")
    for tile, rows in ((a, 60), (b, 8)):  # rows 60 to 63 are part of acc[2], not of acc[0]
        for at in range(0, rows * 128, 512):
            store(ptx.addr(tile.address() + thread() * 4 + at), 0x3F803F80)
    ptx.fence.proxy_async_shared_cta()
    ptx.bar.sync(0)
    acc = reg.wgmma_frag(m=64, n=8, dtype=f32)
    ptx.wgmma.fence()
    ptx.wgmma.mma_async(d=acc, a=a, b=b, **{**SMALL, "scale_d": False})
    ptx.wgmma.commit_group()
    ptx.wgmma.wait_group(0)
    put_float(slot(y), acc[2 if broken else 0])  # guilty


@tensor_case("PTX0921")
def columns_of_tensor_memory(x: Any, y: Any, *, broken: bool) -> None:
    base = allocated()
    one, many = reg.array(f32, 1), reg.array(f32, 2)
    I.mov.f32(one[0], 1.0)
    ptx.tcgen05.st(own(base), one, **WORD)
    ptx.tcgen05.wait_st()
    ptx.tcgen05.ld(many, own(base), shape="32x32b", count=2)
    ptx.tcgen05.wait_ld()
    put_float(slot(y), many[1 if broken else 0])  # guilty
    free_all(base)


@case("PTX0921")
def three_bytes_of_a_word(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    mine = tile + thread() * 4
    for byte in range(3 if broken else 4):
        I.st.shared.u8(ptx.addr(mine + byte), 1)
    put(slot(y), load(reg.scalar(u32), ptx.addr(mine)))  # guilty


@case("PTX0921")
def stored_to_shared_memory_and_read_back(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    value = reg.scalar(u32)
    with ptx.if_(thread() != 40):
        I.mov.u32(value, 3)
    store(ptx.addr(tile + thread() * 4), value)
    ptx.bar.sync(0)
    got = load(reg.scalar(u32), ptx.addr(tile + (63 - thread()) * 4))
    with ptx.if_(thread() != (24 if broken else 23)):
        put(slot(y), got) if broken else put(slot(y), 0)  # guilty


@case("PTX0921", threads=32)
def matrix_of_which_a_row_is_missing(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(b32, (32,), name="tile").address()
    with ptx.if_(thread() < 28):  # seven rows of eight
        store(ptx.addr(tile + thread() * 4), 1)
    I.bar.warp.sync(ALL)
    got = reg.scalar(b32)
    I.ldmatrix.sync.aligned.m8n8.x1.shared.b16([got], ptx.addr(tile + (thread() & 7) * 16))
    with ptx.if_(thread() < (29 if broken else 28)):
        put(slot(y), got)  # guilty


@case("PTX0921")
def copies_of_all_threads_but_four(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    with ptx.if_(thread() < (60 if broken else 64)):
        copy_word(ptx.addr(tile + thread() * 4), ptx.addr(x + thread() * 4), 4)
    I.cp.async_.commit_group()
    I.cp.async_.wait_group(0)
    ptx.bar.sync(0)
    put(slot(y), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))  # guilty


@case("PTX0921")
def bulk_copy_of_a_part_of_the_tile(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    bar = make_barrier()
    size = 240 if broken else 256
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(bar, size)
        bulk_in(ptx.addr(tile), ptx.addr(x), size, ptx.addr(bar))
    ptx.mbarrier.wait(bar, 0)
    put(slot(y), load(reg.scalar(u32), ptx.addr(tile + thread() * 4)))  # guilty


@case("PTX0921")
def bulk_store_of_a_tile_filled_in_part(x: Any, y: Any, *, broken: bool) -> None:
    tile = smem.alloc(u32, (64,), name="tile").address()
    with ptx.if_(thread() < (63 if broken else 64)):
        store(ptx.addr(tile + thread() * 4), thread())
    ptx.fence.proxy_async()
    ptx.bar.sync(0)
    with ptx.if_(thread() == 0):
        bulk_out(ptx.addr(y), ptx.addr(tile), 256)  # guilty
        I.cp.async_.bulk.commit_group()
        I.cp.async_.bulk.wait_group(0)


@case("PTX0921")
def sum_into_a_new_output(x: Any, y: Any, *, broken: bool) -> None:
    if not broken:
        put(slot(y), 0)
    I.red.global_.add.u32(slot(y), 1)  # guilty


@case("PTX0921")
def counter_of_shared_memory(x: Any, y: Any, *, broken: bool) -> None:
    counter = smem.alloc(u32, (1,), name="counter").address()
    if not broken:
        with ptx.if_(thread() == 0):
            store(ptx.addr(counter), 0)
    ptx.bar.sync(0)
    I.red.shared.add.u32(ptx.addr(counter), 1)  # guilty
    ptx.bar.sync(0)
    put(slot(y), load(reg.scalar(u32), ptx.addr(counter)))


@case("PTX0921")
def output_read_before_it_is_written(x: Any, y: Any, *, broken: bool) -> None:
    value = reg.scalar(u32)
    if not broken:
        put(slot(y), 1)
    I.ld.global_.u32(value, slot(y))
    I.add.u32(value, value, 1)
    put(slot(y), value)  # guilty
