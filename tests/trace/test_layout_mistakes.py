# SPDX-License-Identifier: Apache-2.0
"""Mistakes of layout that a trace shows: boxes and swizzles of tensor maps against tiles, and the
bytes of boxes against what mbarriers expect.
"""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import Tile, VerifyError, kernel, ptx, reg, smem
from pyptx.specs import Layout
from pyptx.types import bf16, u32


def copying(
    box: tuple[int, int],
    tile: tuple[int, ...],
    *,
    map_swizzle: Layout = Layout.TMA_128B,
    swizzle: str | None = "128B",
    is_load: bool = True,
) -> Any:
    """Return a kernel that copies one box of a 128 x 64 matrix in, or out."""

    @kernel(
        in_specs=(Tile(128, 64, bf16, layout=map_swizzle, tma_box=box),),
        grid=(1, 1, 1),
        block=(32, 1, 1),
        arch="sm_90a",
    )
    def body(X: Any) -> None:
        buffer = smem.alloc(bf16, tile, swizzle=swizzle, name="buffer")
        bar = smem.mbarrier(1)
        part = buffer[0] if len(tile) == 3 else buffer
        with ptx.if_(ptx.special.tid.x() == 0):
            if is_load:
                ptx.cp.async_.bulk.tensor_2d(dst=part, src=X.tma_desc(), coord=(0, 0), mbar=bar[0])
            else:
                ptx.cp.async_.bulk.tensor_2d(dst=X.tma_desc(), src=part, coord=(0, 0))
        ptx.ret()

    return body


def trace(body: Any) -> str:
    return str(body.ptx())


@pytest.mark.parametrize("is_load", [True, False])
@pytest.mark.parametrize("tile", [(64, 64), (2, 64, 64)])
def test_a_box_larger_than_the_tile(tile: tuple[int, ...], is_load: bool) -> None:
    """Of a stage too: what does not fit lands in the next one."""
    with pytest.raises(VerifyError, match="PTX0511") as caught:
        trace(copying((128, 64), tile, is_load=is_load))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.file == __file__
    assert "a box of 16384 bytes does not fit into 'buffer', which has 8192" in diagnostic.message
    assert diagnostic.notes == ["the box of the tensor map is 128 x 64 elements of 2 bytes"]
    assert "tensor" in trace(copying((64, 64), tile, is_load=is_load))


@pytest.mark.parametrize("is_load", [True, False])
def test_another_swizzle(is_load: bool) -> None:
    with pytest.raises(VerifyError, match="swizzles by 128B, 'buffer' by 64B"):
        trace(copying((64, 64), (64, 64), swizzle="64B", is_load=is_load))
    with pytest.raises(VerifyError, match="PTX0512"):
        trace(copying((64, 64), (64, 64), map_swizzle=Layout.ROW, is_load=is_load))
    plain = copying((64, 64), (64, 64), map_swizzle=Layout.ROW, swizzle=None, is_load=is_load)
    assert "tensor" in trace(plain)


def test_plain_memory_has_no_layout() -> None:
    """Without a swizzle it is bytes, which the author takes as they come."""
    for tile in ((64 * 64,), (64, 64)):
        assert "tensor" in trace(copying((64, 64), tile, swizzle=None))


BOX = 64 * 64 * 2


def expecting(body: Any) -> Any:
    """Return a kernel; `body(bar, copy, is_first)` expects, and copies boxes of 8192 bytes."""

    @kernel(
        in_specs=(Tile(128, 64, bf16, layout=Layout.TMA_128B, tma_box=(64, 64)),),
        grid=(1, 1, 1),
        block=(32, 1, 1),
        arch="sm_90a",
    )
    def k(X: Any) -> None:
        tile = smem.alloc(bf16, (64, 64), swizzle="128B", name="tile")
        bar = smem.mbarrier(1)[0]

        def copy(**options: Any) -> None:
            source = X.tma_desc()
            ptx.cp.async_.bulk.tensor_2d(dst=tile, src=source, coord=(0, 0), mbar=bar, **options)

        is_first = ptx.special.tid.x() == 0
        body(bar, copy, is_first)
        ptx.ret()

    return k


def too_few(bar: Any, copy: Any, is_first: Any) -> None:
    with ptx.if_(is_first):
        ptx.mbarrier.arrive_expect_tx(bar, BOX)
        copy()
        copy()


def too_many_of_a_loop(bar: Any, copy: Any, is_first: Any) -> None:
    with ptx.if_(is_first):
        ptx.mbarrier.arrive_expect_tx(bar, BOX)
        copy()
    with ptx.range_(0, 4):
        ptx.mbarrier.wait(bar, 0)
        ptx.mbarrier.arrive_expect_tx(bar, 2 * BOX)
        copy()


def same_guard(bar: Any, copy: Any, is_first: Any) -> None:
    ptx.mbarrier.arrive_expect_tx(bar, BOX // 2, pred=is_first)
    copy(pred=is_first)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (too_few, (BOX, 2 * BOX)),
        (too_many_of_a_loop, (2 * BOX, BOX)),
        (same_guard, (BOX // 2, BOX)),
    ],
)
def test_bytes_that_cannot_be_right(body: Any, told: tuple[int, int]) -> None:
    with pytest.raises(VerifyError) as caught:
        trace(expecting(body))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "PTX0513"
    assert f"{told[0]} bytes are expected here, the copies beside it bring {told[1]}" in str(
        diagnostic.message
    )
    assert diagnostic.file == __file__


def exact(bar: Any, copy: Any, is_first: Any) -> None:
    with ptx.if_(is_first):
        ptx.mbarrier.arrive_expect_tx(bar, 2 * BOX)
        copy()
        copy()


def by_another_thread(bar: Any, copy: Any, is_first: Any) -> None:
    with ptx.if_(is_first):
        ptx.mbarrier.arrive_expect_tx(bar, 2 * BOX)
        copy()
    with ptx.if_(ptx.special.tid.x() == 1):
        copy()


def in_a_loop(bar: Any, copy: Any, is_first: Any) -> None:
    ptx.mbarrier.arrive_expect_tx(bar, 4 * BOX, pred=is_first)
    with ptx.range_(0, 4):
        copy(pred=is_first)


def to_several(bar: Any, copy: Any, is_first: Any) -> None:
    with ptx.if_(is_first):
        ptx.mbarrier.arrive_expect_tx(bar, 2 * BOX)
        copy(multicast_mask=0b11)


def counted_at_run_time(bar: Any, copy: Any, is_first: Any) -> None:
    ptx.mbarrier.arrive_expect_tx(bar, reg.from_(ptx.special.ntid.x(), u32))
    copy()


def with_raw_text(bar: Any, copy: Any, is_first: Any) -> None:
    ptx.mbarrier.arrive_expect_tx(bar, BOX // 2)
    copy()
    ptx.raw("nanosleep.u32 1;")


@pytest.mark.parametrize(
    "body", [exact, by_another_thread, in_a_loop, to_several, counted_at_run_time, with_raw_text]
)
def test_bytes_that_may_be_right(body: Any) -> None:
    assert "expect_tx" in trace(expecting(body))
