# SPDX-License-Identifier: Apache-2.0
"""ptx.show: tiles of shared memory as matrices, at a point of an emulated run."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from pyptx import Tile, kernel, layout, ptx, reg, smem
from pyptx.types import bf16, e4m3, f16, f32, s8, s32, u8, u16, u32, u64

THREADS = 32


def make(show=None, dtype=f32, shape=(8, 32), swizzle=None, passes=1, grid=1, dynamic=False):
    """A kernel whose CTA c writes i + 1000 c + 100 pass to element i of a tile, by its logic."""
    rows, columns = shape
    rounding = "rn" if dtype.name.startswith("f") else None

    @kernel(
        in_specs=(Tile(32, u32),),
        out_specs=(Tile(grid, 32, u32),),
        grid=(grid, 1, 1),
        block=(THREADS, 1, 1),
        arch="sm_90a",
        smem=65536 if dynamic else 0,
    )
    def fill(X, Y):
        _, target = ptx.global_ptrs(X, Y)
        smem.alloc(u8, (256,), name="before")
        tile = smem.alloc(dtype, (2, rows, columns), swizzle=swizzle, name="tile")
        tid = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        with ptx.range_(0, passes) as number:
            for row in range(rows):
                with ptx.if_(tid < columns):
                    value = reg.scalar(u32)
                    ptx.inst.mad.lo.u32(value, cta, 1000, row * columns)
                    ptx.inst.mad.lo.u32(value, number, 100, value)
                    word = reg.scalar(dtype)
                    ptx.cvt(dtype, u32, word, value + tid, rounding=rounding)
                    tile[1, row, tid] = word
            ptx.bar.sync(0)
            if show:
                show(tile)
            ptx.bar.sync(0)
        own = reg.from_(cta * 128 + tid * 4, u64)
        ptx.inst.st.global_.u32(ptx.addr(target + own), tid)
        ptx.ret()

    return fill


def run(fill, **options):
    _, report = fill.emulate(np.zeros(32, np.uint32), report=True, checks="basic", **options)
    return report.shown


def numbers(tile) -> np.ndarray:
    return np.array([float(word) for word in tile.elements]).reshape(tile.shape)


@pytest.mark.parametrize("swizzle", [None, "32B", "64B", "128B"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_tile_is_shown_in_its_logical_order(swizzle, dynamic):
    fill = make(lambda tile: ptx.show(tile[1]), swizzle=swizzle, dynamic=dynamic)
    (tile,) = run(fill)
    np.testing.assert_array_equal(numbers(tile), np.arange(256).reshape(8, 32))
    assert tile.swizzle == (swizzle or "none")
    assert tile.type == "f32"
    assert tile.place.startswith("test_shown_tiles.py:")


def test_what_nobody_wrote_is_told(capfd):
    (tile,) = run(make(lambda tile: ptx.show(tile), swizzle="64B"))
    assert tile.elements[:256] == ["?"] * 256
    np.testing.assert_array_equal([float(word) for word in tile.elements[256:]], np.arange(256))
    said = capfd.readouterr().out
    assert "tile: f32 2 x 8 x 32, swizzle 64B, CTA (0,0,0), test_shown_tiles.py:" in said
    assert " [1]\n     0 |   0   1   2" in said
    assert "nobody wrote it" in tile.picture().text()


def test_the_text_is_the_same_without_it():
    shown = make(lambda tile: ptx.show(tile, "a name", times=3), swizzle="64B")
    assert shown.ptx() == make(swizzle="64B").ptx()


def test_kernels_of_one_text_show_each_their_own():
    for name in ("first", "second"):
        (tile,) = run(make(lambda tile, name=name: ptx.show(tile[1], name)))
        assert tile.name == name
    assert run(make()) == ()


def test_passes_and_ctas_are_chosen():
    def show(tile):
        ptx.show(tile[1], "all", cta=(1, 0, 0), times=2)

    tiles = run(make(show, passes=4, grid=3))
    assert [(tile.number, tuple(tile.cta)) for tile in tiles] == [(1, (1, 0, 0)), (2, (1, 0, 0))]
    for number, tile in enumerate(tiles):
        wanted = np.arange(256).reshape(8, 32) + 1000 + 100 * number
        np.testing.assert_array_equal(numbers(tile), wanted)


def test_a_stage_may_be_a_register():
    def show(tile):
        stage = reg.scalar(u32, 1)
        ptx.show(tile[stage])

    (tile,) = run(make(show, swizzle="128B"))
    np.testing.assert_array_equal(numbers(tile), np.arange(256).reshape(8, 32))


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [(f16, "17"), (s32, "17"), (u16, "17"), (u32, "17")],
)
def test_elements_are_shown_by_their_type(dtype, wanted):
    (tile,) = run(make(lambda tile: ptx.show(tile[1]), dtype=dtype))
    assert tile.elements[17] == wanted


def test_narrow_types_are_numbers():
    @kernel(out_specs=(Tile(1, u32),), grid=(1, 1, 1), block=(1, 1, 1), arch="sm_90a")
    def narrow(Y):
        (target,) = ptx.global_ptrs(Y)
        tiles = [smem.alloc(one, (4,), name=one.name) for one in (e4m3, bf16, s8)]
        for tile in tiles:
            word = reg.scalar(u32, 0xC0384038)
            ptx.inst.st.shared.u32(ptx.addr(tile.address()), word)
            ptx.show(tile)
        ptx.inst.st.global_.u32(ptx.addr(target), 0)
        ptx.ret()

    _, report = narrow.emulate(report=True, checks="basic")
    shown = {tile.name: tile.elements for tile in report.shown}
    assert shown["e4m3"] == ["1", "2", "1", "-2"]
    assert shown["bf16"] == ["2.875", "-2.875", "?", "?"]
    assert shown["s8"] == ["56", "64", "56", "-64"]


def test_a_run_that_nobody_counts_prints_too(capfd):
    make(lambda tile: ptx.show(tile[1], "quiet"))(np.zeros(32, np.uint32))
    assert "quiet: f32 8 x 32" in capfd.readouterr().out


def test_a_shown_tile_is_a_picture_and_plain_data():
    fill = make(lambda tile: ptx.show(tile[1]))
    _, report = fill.emulate(np.zeros(32, np.uint32), report=True, checks="basic")
    (tile,) = report.shown
    ElementTree.fromstring(tile.picture().svg())
    assert tile._repr_html_().startswith("<div")
    json.dumps(report.as_dict())


def planted(stride: int):
    """Each thread stores a column of a row-major tile: all lanes to one bank with stride 32."""

    @kernel(
        in_specs=(Tile(32, u32),),
        out_specs=(Tile(32, u32),),
        grid=(2, 1, 1),
        block=(32, 1, 1),
        arch="sm_90a",
    )
    def column(X, Y):
        _, target = ptx.global_ptrs(X, Y)
        room = smem.alloc(u32, (32 * 33,), name="room")
        tid = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.st.shared.u32(ptx.addr(room.address() + tid * (stride * 4)), tid)
        ptx.inst.st.shared.u32(ptx.addr(room.address() + tid * 4), tid)
        with ptx.if_(ptx.special.ctaid.x() == 0):
            ptx.inst.st.global_.u32(ptx.addr(target + reg.from_(tid << 2, u64)), tid)
        ptx.ret()

    _, report = column.emulate(np.zeros(32, np.uint32), report=True, checks="basic")
    return report


def test_the_banks_of_a_line_are_drawn():
    report = planted(32)
    picture = layout.bank_use(report)
    bad, good = picture.facts["uses"]
    assert (bad.wavefronts, bad.bank_conflicts) == (64, 62)
    assert (good.wavefronts, good.bank_conflicts) == (2, 0)
    assert bad.words[0] == 64
    assert sum(bad.words) == 64
    assert set(good.words) == {2}
    chosen = layout.bank_use(report, line=bad.line)
    assert [use.line for use in chosen.facts["uses"]] == [bad.line]
    assert "32 wavefronts" in chosen.text()
    lanes = layout.banks(bad.addresses, bytes=bad.bytes)
    assert lanes.facts["wavefronts"] == 32
    assert layout.bank_use(planted(33)).facts["conflicts"] == 0
    ElementTree.fromstring(chosen.svg())
    with pytest.raises(ValueError, match="PTX0721"):
        layout.bank_use(report, line=1)


def test_tensor_memory_is_drawn_over_time():
    @kernel(out_specs=(Tile(128, u32),), grid=(1, 1, 1), block=(128, 1, 1), arch="sm_100a")
    def store(Y):
        tc = ptx.tcgen05
        (target,) = ptx.global_ptrs(Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        slot = smem.alloc(u32, (1,), name="slot")
        with ptx.if_(tid < 32):
            tc.alloc(slot, 64, cta_group=1)
        tc.fence_before_thread_sync()
        ptx.bar.sync(0)
        tc.fence_after_thread_sync()
        base = smem.load(u32, slot.address())
        own = base + ((tid >> 5) << 21)
        value = reg.array("b32", 1)
        ptx.inst.mov.b32(value[0], tid)
        tc.st(own + 40, value, shape="32x32b", count=1)
        tc.wait_st()
        tc.ld(value, own + 40, shape="32x32b", count=1)
        tc.wait_ld()
        ptx.inst.st.global_.b32(ptx.addr(target + reg.from_(tid << 2, u64)), value[0])
        tc.fence_before_thread_sync()
        ptx.bar.sync(0)
        with ptx.if_(tid < 32):
            tc.dealloc(base, 64, cta_group=1)
        ptx.ret()

    _, report = store.emulate(report=True, checks="basic")
    uses = report.tensor_uses
    assert [use.kind for use in uses].count("st") == 4
    assert [use.kind for use in uses].count("ld") == 4
    (allocation,) = [use for use in uses if use.kind == "alloc"]
    assert (allocation.first, allocation.columns) == (0, 64)
    for use in uses:
        assert allocation.start <= use.start <= use.end <= allocation.end
        if use.kind != "alloc":
            assert (use.first, use.columns) == (40, 1)
            assert use.halves == 3 << 2 * use.warp
    picture = layout.tensor_memory(report)
    assert "32-63" in picture.text()
    ElementTree.fromstring(picture.svg())
    with pytest.raises(ValueError, match="PTX0721"):
        layout.tensor_memory(report, cta=1)
    with pytest.raises(ValueError, match="PTX0721"):
        layout.tensor_memory(planted(1))
