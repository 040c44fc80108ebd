# SPDX-License-Identifier: Apache-2.0
"""Shared memory, mbarriers, TMA, wgmma and clusters from Python: the text is assembled by ptxas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyptx import VerifyError, _core, ptx, reg, smem
from pyptx.types import bf16, e4m3, f16, f32, s8, s32, u8, u32, u64
from pyptx.wgmma_layout import (
    GmmaLayout,
    LayoutType,
    Major,
    layout_for_a,
    layout_for_b,
    pick_gmma_layout,
)
from support.assembling import assemble as assemble_text


@pytest.fixture
def trace() -> Iterator[_core.Trace]:
    """A kernel with two tensors that is being traced."""
    kernel = _core.Trace("kernel", "sm_90a")
    kernel.add_tensor("A")
    kernel.add_tensor("B")
    kernel.enter()
    yield kernel
    kernel.leave()


def assemble(module: _core.Module, folder: Path) -> str:
    """The text of a module that ptxas has accepted."""
    return assemble_text(module.text, module.target, folder)


def test_shared_memory_elements_and_stages(trace: _core.Trace, tmp_path: Path) -> None:
    tile = smem.alloc(bf16, (2, 64, 64), swizzle="128B", name="tile")
    flat = smem.alloc(f32, (32,), name="flat")
    lane = ptx.special.laneid()
    tile[0, 1, 8] = tile[1, 0, 0]
    tile[1, lane, 3] = tile[0, lane, lane]
    flat[lane] = 1.5
    flat[0] = flat[lane] + flat[1]
    smem.store(u32, flat.address(), 7)
    smem.store(u32, ptx.addr(flat.address(), 16), smem.load(u32, flat.address()))
    ptx.inst.st.shared.u32(flat, lane)
    text = assemble(trace.finish(), tmp_path)
    assert ".shared .align 1024 .b8 tile[16384]" in text
    # row 1, column 8: byte 128 + 16, and chunk 1 of row 1 is swizzled to chunk 0
    assert "+128], " in text
    assert tile[1].shape == (64, 64)
    assert tile[1].byte_offset == 8192
    assert tile.swizzle == "128B"
    assert tile.dtype is bf16
    assert tile.nbytes == 16384


def test_everything_moves_past_the_static_limit(trace: _core.Trace, tmp_path: Path) -> None:
    first = smem.alloc(f32, (8192,))
    second = smem.alloc(f32, (8192,))
    second[3] = first[2]
    text = assemble(trace.finish(), tmp_path)
    assert ".extern .shared .align 128 .b8 dyn_smem[]" in text
    assert trace.dynamic_shared_bytes == 65536
    assert second.byte_offset == 32768


def test_barriers(trace: _core.Trace, tmp_path: Path) -> None:
    bars = smem.mbarrier(3, name="full")
    assert len(bars) == 3
    bars.init_all(1)
    ptx.mbarrier.init(bars[0], 2)
    ptx.fence.mbarrier_init()
    ring = ptx.mbarrier.pipeline(3)
    with ptx.if_(ptx.special.tid.x() == 0):
        bars.at(ring.stage).arrive_expect_tx(1024)
        ptx.mbarrier.expect_tx(bars[1], 16)
    stage, phase = ring.advance()
    bars.at(stage).wait(phase)
    ptx.mbarrier.wait(bars[2], 1)
    done = ptx.mbarrier.try_wait(bars[0], phase)
    ptx.mbarrier.arrive(bars[1], pred=done)
    bars[1].arrive_remote(1, 2)
    placed = ptx.mbarrier.array(smem.alloc(u64, (4,)).address(), 8, 2)
    placed.init_all(1)
    placed.at(1).arrive()
    ptx.mbarrier.inval(bars[0])
    text = assemble(trace.finish(), tmp_path)
    assert text.count("mbarrier.try_wait.parity") == 3


def test_copies(trace: _core.Trace, tmp_path: Path) -> None:
    tile = smem.alloc(bf16, (2, 64, 64), swizzle="128B")
    bar = smem.mbarrier(1)
    a = trace.tensor_map("A")
    (pointer,) = ptx.global_ptrs("B")
    x = ptx.special.ctaid.x()
    bulk = ptx.cp.async_.bulk
    bulk.tensor_2d(dst=tile[0], src=a, coord=(0, x), mbar=bar[0])
    bulk.tensor_3d(dst=tile[x], src=a, coord=(0, x, 1), mbar=bar[0], multicast_mask=3)
    bulk.tensor_2d(dst=a, src=tile[1], coord=(0, x))
    bulk.tensor.tile_1d(dst=tile[0], src=a, coord=(x,), mbar=bar)
    bulk.tensor.store_5d(dst=a, src=tile[0], coord=(0, 0, 0, 0, x))
    bulk.commit_group()
    bulk.wait_group(0, read=True)
    ptx.tma.load_3d(tile[0], a, x, 128, bar[0])
    ptx.tma.load_3d(tile[0], a, mbar=bar[0], coords=(0, 1, 2))
    ptx.tma.load_3d_multicast(tile[0], a, x, x, bar[0], 3)
    ptx.tma.store_3d(a, tile[0], 0, x)
    ptx.cp.async_.ca(tile[0], pointer, 4)
    ptx.cp.async_.cg(tile[1], ptx.addr(pointer, 16), 16)
    ptx.cp.async_.commit_group()
    ptx.cp.async_.wait_group(0)
    ptx.cp.async_.wait_all()
    text = assemble(trace.finish(), tmp_path)
    assert "multicast::cluster" in text
    assert "{0, %r" in text


@pytest.mark.parametrize(
    ("types", "version"), [((s8, s8), (8, 0)), ((s8, u8), (8, 4)), ((u8, s8), (8, 4))]
)
def test_wgmma_on_integers(
    trace: _core.Trace, tmp_path: Path, types: tuple[_core.Type, _core.Type], version: object
) -> None:
    a = smem.wgmma_tile(types[0], (64, 64))
    b = smem.wgmma_tile(types[1], (32, 64))
    ptx.wgmma.mma_async(
        shape=(64, 32, 32), dtype_d=s32, dtype_a=types[0], dtype_b=types[1],
        d=reg.wgmma_frag(m=64, n=32, dtype=s32), a=a, b=b, b_k_offset=32,
    )  # fmt: skip
    module = trace.finish()
    assemble(module, tmp_path)
    assert module.version == version


@pytest.mark.parametrize(("stored", "read"), [(f16, bf16), (bf16, f16), (f32, bf16)])
def test_wgmma_refuses_a_tile_of_another_format(
    trace: _core.Trace, stored: _core.Type, read: _core.Type
) -> None:
    with pytest.raises(VerifyError, match=f"holds {stored!r}, the operand is {read!r}"):
        ptx.wgmma.mma_async(
            shape=(64, 64, 16), dtype_d=f32, dtype_a=read, dtype_b=read,
            d=reg.wgmma_frag(m=64, n=64, dtype=f32), a=smem.wgmma_tile(stored, (64, 64)),
            b=smem.wgmma_tile(read, (64, 64)),
        )  # fmt: skip


def test_wgmma(trace: _core.Trace, tmp_path: Path) -> None:
    a = smem.wgmma_tile(bf16, (2, 64, 64), name="a")
    b = smem.wgmma_tile(bf16, (2, 64, 128), "MN", name="b")
    acc = reg.wgmma_frag(m=64, n=128, dtype=f32)
    types = {"dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "shape": (64, 128, 16), "d": acc}
    ptx.wgmma.fence()
    for k in range(0, 64, 16):
        ptx.wgmma.mma_async(**types, a=a[0], b=b[1], scale_d=k > 0, a_k_offset=k, b_k_offset=k)
    layout = layout_for_a(dtype=bf16, m=64, k=64)
    da = ptx.wgmma.make_descriptor(
        a.address(),
        leading_byte_offset=layout.leading_byte_offset,
        stride_byte_offset=layout.stride_byte_offset,
        swizzle=layout.layout_type,
    )
    db = ptx.wgmma.auto_descriptor(b[0], dtype=bf16, shape=(64, 128), major="MN")
    ptx.wgmma.masked_descriptor(a.address(), byte_offset=32)
    ptx.wgmma.mma_async(**types, a=da, b=db, scale_d=True, trans_b=1)
    fragment = reg.array(u32, 4)
    for i in range(4):
        fragment[i] = 0
    ptx.wgmma.mma_async(**types, a=fragment, b=db, trans_b=1, scale_d=True, scale_a=-1)
    ptx.wgmma.commit_group()
    ptx.wgmma.wait_group(0)
    text = assemble(trace.finish(), tmp_path)
    assert text.count("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16") == 6


def test_clusters_and_registers(trace: _core.Trace, tmp_path: Path) -> None:
    bar = smem.mbarrier(1)
    ptx.setmaxnreg(40, inc=False)
    ptx.setmaxnreg_inc(232)
    ptx.cluster.sync()
    ptx.cluster.arrive(aligned=True)
    ptx.cluster.wait(aligned=True)
    rank = ptx.cluster.rank()
    ptx.cluster.map_shared_u32(bar[0], rank)
    ptx.cluster.arrive_remote(bar[0], rank)
    ptx.cluster.arrive_multicast(bar[0], 3)
    ptx.cluster.arrive_multicast(bar[0], rank)
    ptx.fence.proxy_async()
    ptx.fence.proxy_async_shared_cta()
    assemble(trace.finish(), tmp_path)


REFUSED: list[tuple[str, Callable[[_core.Trace], object]]] = [
    ("PTX0502", lambda _: smem.alloc(f32, (2, 4))[2]),
    ("PTX0503", lambda _: smem.alloc(f32, (2, 4))[0, 0, 0]),
    ("PTX0504", lambda _: smem.alloc(bf16, (64, 64), swizzle="128B", align=128)),
    ("PTX0501", lambda _: smem.alloc(bf16, (64, 20), swizzle="32B")),
    ("PTX0237", lambda _: smem.alloc(bf16, (64, 64), swizzle="96B")),
    ("PTX0237", lambda _: smem.alloc(bf16, (64, -1))),
    ("PTX0237", lambda _: smem.wgmma_tile(bf16, (64, 64), "M")),
    ("PTX0501", lambda _: smem.wgmma_tile(e4m3, (64, 64), "MN")),
    ("PTX0501", lambda _: smem.base()),
    ("PTX0502", lambda _: smem.mbarrier(2)[2]),
    ("PTX0237", lambda _: ptx.mbarrier.wait(smem.mbarrier(1)[0], reg.scalar(u64))),
    ("PTX0237", lambda _: ptx.mbarrier.wait(smem.mbarrier(2), 0)),
    ("PTX0237", lambda _: ptx.setmaxnreg(100)),
    ("PTX0237", lambda _: ptx.cluster.arrive_multicast(smem.mbarrier(1)[0], 0)),
    ("PTX0237", lambda _: ptx.wgmma.wait_group(9)),
    (
        "PTX0505",
        lambda t: ptx.cp.async_.bulk.tensor_3d(
            dst=smem.alloc(bf16, (64, 64)),
            src=t.tensor_map("A"),
            coord=(0, 0),
            mbar=smem.mbarrier(1)[0],
        ),
    ),
    (
        "PTX0507",
        lambda _: ptx.wgmma.mma_async(
            shape=(64, 64, 16),
            dtype_d=f32,
            dtype_a=f16,
            dtype_b=f16,
            d=reg.array(f32, 31),
            a=smem.wgmma_tile(f16, (64, 64)),
            b=smem.wgmma_tile(f16, (64, 64)),
        ),
    ),
]


@pytest.mark.parametrize(("code", "misuse"), REFUSED)
def test_misuse_is_refused(
    trace: _core.Trace, code: str, misuse: Callable[[_core.Trace], object]
) -> None:
    with pytest.raises(VerifyError) as refused:
        misuse(trace)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.file == __file__
    trace.finish()  # what was refused left nothing behind


def test_memory_of_another_trace_is_refused(trace: _core.Trace) -> None:
    tile = smem.alloc(s32, (4,))
    other = _core.Trace("other", "sm_90a")
    other.enter()
    try:
        with pytest.raises(VerifyError, match="another trace"):
            _ = tile[0]
    finally:
        other.leave()


def test_outside_a_trace() -> None:
    with pytest.raises(VerifyError):
        smem.alloc(f32, (4,))
    assert smem.apply_swizzle(128 + 16, "128B") == 128
    assert smem.apply_swizzle(144, None) == 144


def test_layouts() -> None:
    assert layout_for_a(dtype=bf16, m=128, k=64) == GmmaLayout(
        LayoutType.B128, 16, 1024, "128B", "128B"
    )
    assert layout_for_b(dtype=bf16, k=64, n=128) == GmmaLayout(
        LayoutType.B128, 8192, 1024, "128B", "128B"
    )
    plain = pick_gmma_layout(elem_bytes=2, m_or_n=24, k=16, major=Major.MN)
    assert plain == GmmaLayout(LayoutType.INTERLEAVE, 128, 256, "NONE", None)
    with pytest.raises(ValueError, match="16-bit elements"):
        layout_for_b(dtype=e4m3, k=64, n=128)
