# SPDX-License-Identifier: Apache-2.0
"""Planted bugs around tensor memory and tcgen05. See planted_bugs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import bf16, f32, u32
from support.planted.bugs import bulk_in, case, make_barrier, put_float, thread

tc = ptx.tcgen05
COLUMNS = 32
WORD: dict[str, Any] = {"shape": "32x32b", "count": 1}
FIRST: dict[str, Any] = {"kind": "f16", "enable_input_d": False}  # the product overwrites D
before = tc.fence_before_thread_sync
after = tc.fence_after_thread_sync


def tensor_case(*codes: str, threads: int = 128) -> Callable[..., Any]:
    """A case for Blackwell."""
    return case(*codes, threads=threads, arch="sm_100a")


def fenced() -> None:
    """A barrier of the CTA that orders tensor memory too."""
    before()
    ptx.bar.sync(0)
    after()


def allocated(columns: int = COLUMNS) -> Any:
    """The address of tensor memory that warp 0 has allocated for everybody."""
    slot = smem.alloc(u32, (1,), name="slot")
    with ptx.if_(thread() < 32):
        tc.alloc(slot, columns)
    fenced()
    return smem.load(u32, slot.address())


def free_all(base: Any, columns: int = COLUMNS) -> None:
    """Free it, when nobody uses it any more."""
    fenced()
    with ptx.if_(thread() < 32):
        tc.dealloc(base, columns)


def own(base: Any) -> Any:
    """The warp's own lanes; a fifth warp has those of the first."""
    return base + ((thread() >> 5 & 3) << 21)


def tiles(*, fence: bool = True) -> tuple[Any, Any]:
    """A and B of one product of 128 x 32 x 16, all ones, written by the threads."""
    a = smem.alloc(bf16, (128, 64), swizzle="128B", name="tile_a")
    b = smem.alloc(bf16, (32, 64), swizzle="128B", name="tile_b")
    for tile, rows in ((a, 128), (b, 32)):
        for at in range(0, rows * 128, 512):
            ptx.inst.st.shared.b32(ptx.addr(tile.address() + thread() * 4 + at), 0x3F803F80)
    if fence:
        ptx.fence.proxy_async_shared_cta()
    ptx.bar.sync(0)
    return a, b


def instruction() -> int:
    """128 x 32 x 16 of bf16."""
    return tc.make_instr_desc_f16bf16_f32(m=128, n=32)


def multiply(base: Any, a: Any, b: Any) -> None:
    """One product that overwrites D."""
    tc.mma(base, a, b, instruction(), **FIRST)


def put_first(y: Any, base: Any) -> None:
    """Store the first column of the warp's lanes."""
    value = reg.array(f32, 1)
    tc.ld(value, own(base), **WORD)
    tc.wait_ld()
    put_float(ptx.addr(y + thread() * 4), value[0])


@tensor_case("PTX0917")
def accumulator_loaded_before_the_commit_is_seen(x: Any, y: Any, *, broken: bool) -> None:
    bar, base = make_barrier(), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        multiply(base, a, b)
        tc.commit(bar)
    fenced()
    if not broken:
        ptx.mbarrier.wait(bar, 0)
        after()
    value = reg.array(f32, 1)
    tc.ld(value, own(base), **WORD)  # guilty
    tc.wait_ld()
    ptx.mbarrier.wait(bar, 0)
    put_float(ptx.addr(y + thread() * 4), value[0])
    free_all(base)


@tensor_case("PTX0931")
def commit_seen_without_a_fence(x: Any, y: Any, *, broken: bool) -> None:
    bar, base = make_barrier(), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        multiply(base, a, b)
        tc.commit(bar)
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 0)
    if not broken:
        after()
    value = reg.array(f32, 1)
    tc.ld(value, own(base), **WORD)  # guilty
    tc.wait_ld()
    put_float(ptx.addr(y + thread() * 4), value[0])
    free_all(base)


@tensor_case("PTX0931", threads=160)
def stored_without_a_fence_before(x: Any, y: Any, *, broken: bool) -> None:
    """Warp 4 reads what warp 0 has stored."""
    base = allocated()
    with ptx.if_(thread() < 32):
        tc.st(base, [reg.scalar(u32, 7)], **WORD)
        tc.wait_st()
        if not broken:
            before()
    ptx.bar.sync(0)
    after()
    with ptx.if_(thread() >= 128):
        tc.ld(reg.array(u32, 1), base, **WORD)  # guilty
        tc.wait_ld()
    free_all(base)


@tensor_case("PTX0917")
def loaded_before_the_store_is_complete(x: Any, y: Any, *, broken: bool) -> None:
    base = allocated()
    tc.st(own(base), [reg.scalar(u32, 7)], **WORD)
    if not broken:
        tc.wait_st()
    tc.ld(reg.array(u32, 1), own(base), **WORD)  # guilty
    tc.wait_ld()
    tc.wait_st()
    free_all(base)


@tensor_case("PTX0918")
def overwritten_before_the_load_is_complete(x: Any, y: Any, *, broken: bool) -> None:
    """The next product overwrites an accumulator that is being loaded."""
    bar, base = make_barrier(), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        multiply(base, a, b)
        tc.commit(bar)
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 0)
    after()
    value = reg.array(f32, 1)
    tc.ld(value, own(base), **WORD)
    if not broken:
        tc.wait_ld()
    fenced()
    with ptx.if_(thread() == 0):
        tc.mma(base, a, b, instruction(), **FIRST)  # guilty
        tc.commit(bar)
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 1)
    put_float(ptx.addr(y + thread() * 4), value[0])
    tc.wait_ld()
    free_all(base)


@tensor_case("PTX0918")
def freed_before_the_load_is_complete(x: Any, y: Any, *, broken: bool) -> None:
    base = allocated()
    tc.st(own(base), [reg.scalar(u32, 7)], **WORD)
    tc.wait_st()
    tc.ld(reg.array(u32, 1), own(base), **WORD)
    if not broken:
        tc.wait_ld()
    fenced()
    with ptx.if_(thread() < 32):
        tc.dealloc(base, COLUMNS)  # guilty


@tensor_case("PTX0918")
def operand_overwritten_before_the_product_is_complete(x: Any, y: Any, *, broken: bool) -> None:
    bar, base = make_barrier(), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        multiply(base, a, b)
        tc.commit(bar)
    ptx.bar.sync(0)
    if not broken:
        ptx.mbarrier.wait(bar, 0)
    ptx.inst.st.shared.b32(ptx.addr(a.address() + thread() * 4), 0)  # guilty
    ptx.mbarrier.wait(bar, 0)
    after()
    put_first(y, base)
    free_all(base)


@tensor_case("PTX0918")
def stage_refilled_before_the_product_is_complete(x: Any, y: Any, *, broken: bool) -> None:
    bar, full, base = make_barrier(), make_barrier(name="refilled"), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        multiply(base, a, b)
        tc.commit(bar)
        if not broken:
            ptx.mbarrier.wait(bar, 0)
        ptx.mbarrier.arrive_expect_tx(full, 1024)
        bulk_in(ptx.addr(a.address()), ptx.addr(x), 1024, ptx.addr(full))  # guilty
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 0)
    ptx.mbarrier.wait(full, 0)
    after()
    put_first(y, base)
    free_all(base)


@tensor_case("PTX0919")
def product_without_proxy_fence(x: Any, y: Any, *, broken: bool) -> None:
    bar, base = make_barrier(), allocated()
    a, b = tiles(fence=not broken)
    with ptx.if_(thread() == 0):
        tc.mma(base, a, b, instruction(), **FIRST)  # guilty
        tc.commit(bar)
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 0)
    after()
    put_first(y, base)
    free_all(base)


@tensor_case("PTX0928")
def accumulator_without_a_first_value(x: Any, y: Any, *, broken: bool) -> None:
    bar, base = make_barrier(), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        tc.mma(base, a, b, instruction(), kind="f16", enable_input_d=broken)  # guilty
        tc.commit(bar)
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 0)
    after()
    put_first(y, base)
    free_all(base)


@tensor_case("PTX0929")
def never_freed(x: Any, y: Any, *, broken: bool) -> None:
    slot = smem.alloc(u32, (1,), name="slot")
    with ptx.if_(thread() < 32):
        tc.alloc(slot, COLUMNS)  # guilty
    fenced()
    if not broken:
        free_all(smem.load(u32, slot.address()))


@tensor_case("PTX0926")
def freed_in_part(x: Any, y: Any, *, broken: bool) -> None:
    base = allocated(64)
    fenced()
    with ptx.if_(thread() < 32):
        tc.dealloc(base, 32 if broken else 64)  # guilty


@tensor_case("PTX0926")
def allocated_after_the_permit_is_gone(x: Any, y: Any, *, broken: bool) -> None:
    slot = smem.alloc(u32, (2,), name="slot")
    with ptx.if_(thread() < 32):
        tc.alloc(slot, COLUMNS)
        if broken:
            tc.relinquish_alloc_permit()
        tc.alloc(slot.address() + 4, COLUMNS)  # guilty
        tc.relinquish_alloc_permit()
        for at in (0, 4):
            tc.dealloc(smem.load(u32, slot.address() + at), COLUMNS)


@tensor_case("PTX0911")
def more_than_there_is(x: Any, y: Any, *, broken: bool) -> None:
    slot = smem.alloc(u32, (2,), name="slot")
    with ptx.if_(thread() < 32):
        tc.alloc(slot, 512 if broken else 256)
        tc.alloc(slot.address() + 4, 256)  # guilty
        tc.dealloc(smem.load(u32, slot.address()), 512 if broken else 256)
        tc.dealloc(smem.load(u32, slot.address() + 4), 256)


@tensor_case("PTX0927")
def lanes_of_another_warp(x: Any, y: Any, *, broken: bool) -> None:
    base = allocated()
    at = base if broken else own(base)
    tc.st(at, [reg.scalar(u32, 7)], **WORD)  # guilty
    tc.wait_st()
    free_all(base)


@tensor_case("PTX0927")
def columns_beyond_the_allocation(x: Any, y: Any, *, broken: bool) -> None:
    base = allocated()
    at = own(base) + (COLUMNS if broken else COLUMNS - 1)
    tc.st(at, [reg.scalar(u32, 7)], **WORD)  # guilty
    tc.wait_st()
    free_all(base)


@tensor_case("PTX0930")
def shape_that_does_not_exist(x: Any, y: Any, *, broken: bool) -> None:
    bar, base = make_barrier(), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        wanted = reg.scalar(u32, instruction() + (8 << 24 if broken else 0))  # M of 256
        tc.mma(base, a, b, wanted, **FIRST)  # guilty
        tc.commit(bar)
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 0)
    after()
    put_first(y, base)
    free_all(base)


@tensor_case("PTX0907")
def descriptor_without_its_constant(x: Any, y: Any, *, broken: bool) -> None:
    bar, base = make_barrier(), allocated()
    a, b = tiles()
    with ptx.if_(thread() == 0):
        desc = tc.auto_descriptor(a, dtype=bf16, shape=(128, 64), major="K")
        if broken:
            desc = desc - (1 << 46)
        tc.mma(base, desc, b, instruction(), **FIRST)  # guilty
        tc.commit(bar)
    ptx.bar.sync(0)
    ptx.mbarrier.wait(bar, 0)
    after()
    put_first(y, base)
    free_all(base)
