# SPDX-License-Identifier: Apache-2.0
"""Planted bugs around wgmma. See planted_bugs."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import bf16, f32
from support.planted.bugs import SMALL, case, put_float, thread


def small_tiles(*, fence: bool = True) -> tuple[Any, Any]:
    """A and B of one wgmma, written by the threads."""
    a = smem.alloc(bf16, (64, 64), swizzle="128B", name="tile_a")
    b = smem.alloc(bf16, (8, 64), swizzle="128B", name="tile_b")
    for tile, rows in ((a, 64), (b, 8)):
        for at in range(0, rows * 128, 512):
            ptx.inst.st.shared.b32(ptx.addr(tile.address() + thread() * 4 + at), 0x3F803F80)
    if fence:
        ptx.fence.proxy_async_shared_cta()
    ptx.bar.sync(0)
    return a, b


def cleared() -> Any:
    """An accumulator of zeros."""
    acc = reg.wgmma_frag(m=64, n=8, dtype=f32)
    for i in range(4):
        ptx.inst.mov.f32(acc[i], 0.0)
    return acc


@case("PTX0922", threads=128)
def accumulator_read_before_the_wait(x: Any, y: Any, *, broken: bool) -> None:
    a, b = small_tiles()
    acc = cleared()
    ptx.wgmma.fence()
    ptx.wgmma.mma_async(d=acc, a=a, b=b, **SMALL)
    ptx.wgmma.commit_group()
    if not broken:
        ptx.wgmma.wait_group(0)
    put_float(ptx.addr(y + thread() * 4), acc[0])  # guilty
    ptx.wgmma.wait_group(0)


@case("PTX0923", threads=128)
def accumulator_written_without_fence(x: Any, y: Any, *, broken: bool) -> None:
    a, b = small_tiles()
    acc = cleared()
    if not broken:
        ptx.wgmma.fence()
    ptx.wgmma.mma_async(d=acc, a=a, b=b, **SMALL)  # guilty
    ptx.wgmma.commit_group()
    ptx.wgmma.wait_group(0)
    put_float(ptx.addr(y + thread() * 4), acc[0])


@case("PTX0919", threads=128)
def matrix_without_proxy_fence(x: Any, y: Any, *, broken: bool) -> None:
    a, b = small_tiles(fence=not broken)
    acc = cleared()
    ptx.wgmma.fence()
    ptx.wgmma.mma_async(d=acc, a=a, b=b, **SMALL)  # guilty
    ptx.wgmma.commit_group()
    ptx.wgmma.wait_group(0)
    put_float(ptx.addr(y + thread() * 4), acc[0])


@case("PTX0918", threads=128)
def matrix_overwritten_before_the_wait(x: Any, y: Any, *, broken: bool) -> None:
    a, b = small_tiles()
    acc = cleared()
    ptx.wgmma.fence()
    ptx.wgmma.mma_async(d=acc, a=a, b=b, **SMALL)
    ptx.wgmma.commit_group()
    if not broken:
        ptx.wgmma.wait_group(0)
    ptx.bar.sync(0)
    ptx.inst.st.shared.b32(ptx.addr(a.address() + thread() * 4), 0)  # guilty
    ptx.wgmma.wait_group(0)
    put_float(ptx.addr(y + thread() * 4), acc[0])
