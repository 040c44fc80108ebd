# SPDX-License-Identifier: Apache-2.0
"""`Tile(strides="dynamic")`: rows that lie apart are read and written where they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import ArgumentValueError, Layout, Tile, kernel, ptx, reg, smem
from pyptx._errors import Error, LaunchError
from pyptx.types import bf16, f32, u32, u64
from support.packages import need

torch = need("torch")
WIDTH = 8


def double(X: Any, Y: Any) -> None:
    """y = 2 x, a row a CTA, an element a thread."""
    px, py = ptx.global_ptrs(X, Y)
    row = reg.from_(ptx.special.ctaid.x(), u32)
    column = reg.from_(ptx.special.tid.x(), u32)
    value, place = reg.scalar(f32), reg.scalar(u64)
    ptx.inst.mul.wide.u32(place, row * X.strides[0] + column, 4)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
    ptx.inst.add.f32(value, value, value)
    ptx.inst.mul.wide.u32(place, row * Y.strides[0] + column, 4)
    ptx.inst.st.global_.f32(ptx.addr(py + place), value)
    ptx.ret()


def built(body: Any = double, **options: Any) -> Any:
    tile = Tile("M", WIDTH, f32, strides="dynamic")
    options = {"grid": lambda M: (M, 1, 1), "block": (WIDTH, 1, 1), "arch": "sm_90a", **options}
    return kernel(in_specs=(tile,), out_specs=(tile,), **options)(body)


def halves(rows: int = 5) -> Any:
    return torch.randn(rows, 2 * WIDTH).chunk(2, -1)


def test_halves_and_slices_are_taken_as_they_are() -> None:
    k = built(dynamic=("M",))
    wide = torch.randn(9, 40)
    for x in (
        *wide[:, :16].chunk(2, -1),
        wide[:, 3 : 3 + WIDTH],
        wide[::2, :WIDTH],
        wide[2:3, 1 : 1 + WIDTH],
        torch.randn(WIDTH).expand(4, WIDTH),
        torch.randn(4, WIDTH),
    ):
        got = k(x)
        assert got.is_contiguous()
        assert torch.equal(got, 2 * x)
        assert torch.equal(k.emulate(x), 2 * x)
    assert len(k.specializer._traces) == 1
    assert k.ptx() == k.ptx(M=7)
    assert ".param .u32 M,\n\t.param .u32 X_stride0,\n\t.param .u32 Y_stride0\n" in k.ptx()


def test_they_are_written_as_they_are() -> None:
    k = built()
    x = torch.randn(5, WIDTH)
    for _ in range(3):
        out = torch.zeros(5, 2 * WIDTH)
        k(x, out=out[:, WIDTH:])
        assert torch.equal(out[:, WIDTH:], 2 * x)
        assert not out[:, :WIDTH].any()
        k.launch(halves()[0].copy_(x), out[:, :WIDTH])
        assert torch.equal(out[:, :WIDTH], 2 * x)
    assert torch.equal(k(x), 2 * x)


def test_two_halves_of_one_tensor_are_two_outputs() -> None:
    tile = Tile("M", WIDTH, f32, strides="dynamic")

    @kernel(
        in_specs=(tile,), out_specs=(tile, tile), grid=lambda M: (M, 1, 1), block=(WIDTH, 1, 1),
        arch="sm_90a",
    )  # fmt: skip
    def both(X: Any, Y: Any, Z: Any) -> None:
        px, *pointers = ptx.global_ptrs(X, Y, Z)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        column = reg.from_(ptx.special.tid.x(), u32)
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + (row * X.strides[0] + column) * 4))
        for tensor, pointer in zip((Y, Z), pointers, strict=True):
            place = (row * tensor.strides[0] + column) * 4
            ptx.inst.st.global_.f32(ptx.addr(pointer + place), value)
        ptx.ret()

    x = torch.randn(5, WIDTH)
    for _ in range(2):
        out = torch.zeros(5, 2 * WIDTH)
        both(x, out=out.chunk(2, -1))
        assert torch.equal(out, torch.cat([x, x], 1))
    assert both._entry.hits == 1
    out = torch.zeros(5, 2 * WIDTH)
    for overlapping in (out[:, 1 : 1 + WIDTH], out[:, :WIDTH], out[1:, :WIDTH]):
        rows = len(overlapping)
        with pytest.raises(ValueError, match="share memory") as caught:
            both(x[:rows], out=(out[:rows, :WIDTH], overlapping))
        assert caught.value.diagnostics[0].code == "PTX0848"


def test_repeated_calls_stay_in_c() -> None:
    k = built()
    seen = []

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call" and str(Path(pyptx.__file__).parent) in frame.f_code.co_filename:
            seen.append(frame.f_code.co_qualname)

    halved = halves()
    out = torch.empty(5, 3 * WIDTH)[:, WIDTH : 2 * WIDTH]
    array = np.ascontiguousarray(torch.cat(halved, 1).numpy())[:, WIDTH:]
    written = np.empty((5, 2 * WIDTH), "f4")[:, :WIDTH]
    calls = [
        lambda: k(halved[0]),
        lambda: k(halved[1], out=out),
        lambda: k(array),
        lambda: k(array, out=written),
    ]
    for call in calls:
        call()
        call()
    sys.setprofile(watch)
    try:
        for call in calls:
            call()
    finally:
        sys.setprofile(None)
    assert seen == []
    assert torch.equal(out, 2 * halved[1])
    np.testing.assert_array_equal(written, 2 * array)


def test_other_strides_are_another_launch_of_one_trace() -> None:
    k = built()
    for width in (8, 9, 16, 24, 8):
        x = torch.randn(3, width)[:, :WIDTH]
        assert torch.equal(k(x), 2 * x)
    assert len(k.specializer._traces) == 1
    assert len(k._entry) == 4


def test_more_dimensions_in_any_order() -> None:
    """Heads of a (tokens, heads, columns) tensor, transposed: all but the last may be anything."""
    tile = Tile("H", "S", WIDTH, f32, strides="dynamic")

    def body(X: Any, Y: Any) -> None:
        assert X.strides[2] == 1
        px, py = ptx.global_ptrs(X, Y)
        head = reg.from_(ptx.special.ctaid.y(), u32)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        column = reg.from_(ptx.special.tid.x(), u32)
        value = reg.scalar(f32)
        place = (head * X.strides[0] + row * X.strides[1] + column) * 4
        ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
        place = (head * Y.strides[0] + row * Y.strides[1] + column) * 4
        ptx.inst.st.global_.f32(ptx.addr(py + place), value)
        ptx.ret()

    k = kernel(
        in_specs=(tile,), out_specs=(tile,), grid=lambda H, S: (S, H, 1), block=(WIDTH, 1, 1),
        arch="sm_90a",
    )(body)  # fmt: skip
    x = torch.randn(6, 4, 3, WIDTH)
    for given in (x[:, 0].transpose(0, 1), x[0], x[:, :, 1], x[1:2, 2]):
        for _ in range(2):
            assert torch.equal(k(given), given)
            out = torch.empty(given.shape[1], given.shape[0], WIDTH).transpose(0, 1)
            assert torch.equal(k(given, out=out), given)


@pytest.mark.parametrize("tma", ["value", "pointer"])
@pytest.mark.parametrize("rank", [2, 3])
def test_tensor_maps_have_them(tma: str, rank: int) -> None:
    columns = 64
    box = (16, columns)

    def body(X: Any, Y: Any) -> None:
        tile = smem.alloc(bf16, box, swizzle="128B", align=1024)
        bar = smem.mbarrier(1)
        row = reg.from_(ptx.special.ctaid.x(), u32) * box[0]
        with ptx.if_(reg.from_(ptx.special.tid.x(), u32) == 0):
            ptx.mbarrier.init(bar[0], 1)
            ptx.fence.proxy_async_shared_cta()
            ptx.mbarrier.arrive_expect_tx(bar[0], box[0] * box[1] * 2)
            bulk = ptx.cp.async_.bulk
            if rank == 2:
                bulk.tensor_2d(dst=tile, src=X.tma_desc(), coord=(0, row), mbar=bar[0])
            else:
                bulk.tensor_3d(dst=tile, src=X.tma_desc(), coord=(0, row, 0), mbar=bar[0])
            ptx.mbarrier.wait(bar[0], 0)
            if rank == 2:
                bulk.tensor.store_2d(dst=Y.tma_desc(), src=tile, coord=(0, row))
            else:
                bulk.tensor.store_3d(dst=Y.tma_desc(), src=tile, coord=(0, row, 0))
            bulk.commit_group()
            bulk.wait_group(0)
        ptx.ret()

    matrix = Tile(
        "M", columns, bf16, Layout.TMA_128B, tma_box=box, tma_rank=rank, strides="dynamic"
    )
    k = kernel(
        in_specs=(matrix,), out_specs=(matrix,), grid=lambda M: (-(-M // 16), 1, 1),
        block=(32, 1, 1), tma=tma, dynamic=("M",),
    )(body)  # fmt: skip
    wide = torch.randn(33, 256).bfloat16()
    for x in (wide[:, :64], wide[:, 64:128], wide[:20, 128:192], wide[::2, :64], wide[:1, 8:72]):
        for _ in range(2):
            assert torch.equal(k(x), x)
    out = torch.zeros(33, 128).bfloat16()
    k(wide[:, :64], out=out[:, 64:])
    assert torch.equal(out[:, 64:], wide[:, :64])
    assert not out[:, :64].any()
    assert len(k.specializer._traces) == 1
    with pytest.raises(LaunchError, match=r"starts at address.*multiple of 16"):
        k(wide[:, 1:65])
    odd = torch.randn(33, 65).bfloat16()[:, :64]
    with pytest.raises(LaunchError, match=r"no TMA descriptor can be made for 'X'.*130"):
        k(odd)


def test_what_is_no_row() -> None:
    k = built()
    x = torch.randn(WIDTH, WIDTH)
    with pytest.raises(
        ArgumentValueError, match=r"'X' has strides \(1, 8\) .* expected a row-wise contiguous"
    ) as caught:
        k(x.T)
    assert caught.value.diagnostics[0].code == "PTX0846"
    with pytest.raises(ValueError, match=r"strides \(-8, 1\)"):
        k(np.zeros((3, WIDTH), "f4")[::-1])
    with pytest.raises(ValueError, match=r"strides \(2, 2\)|strides \(32, 2\)"):
        k(np.zeros((3, 4 * WIDTH), "f4")[:, : 2 * WIDTH : 2])
    with pytest.raises(ValueError, match=r"'Y' .*its elements share memory"):
        k(x, out=torch.zeros(WIDTH).expand(WIDTH, WIDTH))
    fields = np.zeros((3, WIDTH), np.dtype([("a", "f4"), ("b", "f4")]))["a"]
    with pytest.raises(ValueError, match="row-wise contiguous"):
        k(fields)

    def nothing(X: Any, Y: Any) -> None:
        ptx.ret()

    narrow = built(nothing, raw_params=[("u8", "X_stride0")])
    with pytest.raises(ValueError, match=r"X_stride0.*300"):
        narrow(torch.zeros(2, 300)[:, :WIDTH])


def test_a_kernel_that_writes_its_inputs() -> None:
    tile = Tile("M", WIDTH, f32, strides="dynamic")

    @kernel(in_specs=(tile,), grid=lambda M: (M, 1, 1), block=(WIDTH, 1, 1), arch="sm_90a")
    def clear(X: Any) -> None:
        (px,) = ptx.global_ptrs(X)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        place = (row * X.strides[0] + ptx.special.tid.x()) * 4
        ptx.inst.st.global_.f32(ptx.addr(px + place), reg.scalar(f32, init=0.0))
        ptx.ret()

    whole = torch.ones(4, 2 * WIDTH)
    clear(whole[:, :WIDTH])
    assert whole.sum() == 4 * WIDTH
    with pytest.raises(ValueError, match="its elements share memory"):
        clear(torch.ones(WIDTH).expand(4, WIDTH))


def test_in_numpy_and_jax() -> None:
    jax = need("jax")
    k = built()
    x = np.arange(6 * 16, dtype="f4").reshape(6, 16)
    for part in (x[:, :WIDTH], x[::2, WIDTH:], x[:, 3:11]):
        np.testing.assert_array_equal(k(part), 2 * part)
        np.testing.assert_array_equal(jax.jit(k)(part), 2 * part)
    given = jax.numpy.asarray(x)
    np.testing.assert_array_equal(jax.jit(lambda x: k(x[:, :WIDTH]) + 1)(given), 2 * x[:, :8] + 1)


def test_settled_kernels_take_dense_tensors(tmp_path: Path) -> None:
    k = built()
    x = torch.randn(3, WIDTH)
    path = tmp_path / "double.pyptx"
    k.save(path, M=3)
    for settled in (k.bind(x), pyptx.load(path)):
        assert torch.equal(settled(x), 2 * x)
        with pytest.raises(ValueError, match="strides"):
            settled(halves(3)[0])
    with pytest.raises(LaunchError, match=r"strides \(16, 1\): bound and saved kernels take dense"):
        k.bind(halves(3)[0])


def test_dense_tensors_tell_their_strides_too() -> None:
    seen = []

    def body(X: Any, Y: Any) -> None:
        seen.append((X.strides, Y.strides))
        ptx.ret()

    rows, columns = Tile(4, 3, 2, f32), Tile(4, 3, 2, f32, Layout.COL)
    kernel(in_specs=(rows,), out_specs=(columns,))(body).ptx()
    assert seen == [((6, 2, 1), (1, 4, 12))]
    kernel(in_specs=(Tile("M", "N", f32),), out_specs=(Tile(4, f32),))(body).ptx()
    assert seen[-1] == (None, (1,))

    def sized(X: Any, Y: Any) -> None:
        assert X.strides[1] == 1
        assert X.strides[0] is not X.strides[1]
        assert X.strides[0].dtype is u32
        ptx.ret()

    k = kernel(in_specs=(Tile("M", "N", f32),), out_specs=(Tile(4, f32),), dynamic=("M", "N"))
    assert "[N]" in k(sized).ptx()


@pytest.mark.parametrize(
    ("dims", "options", "message"),
    [
        (("M",), {}, "is of rows that lie apart.*less than two dimensions"),
        (("M", 4), {"layout": Layout.COL}, "has columns"),
        (("M", 4), {"strides": "any"}, "strides is 'dynamic', or None: dense"),
    ],
)
def test_tiles_that_have_no_rows(dims: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tile(*dims, f32, **{"strides": "dynamic", **options})


def test_a_name_is_one_thing() -> None:
    def body(X: Any, Y: Any, *, X_stride0: int = 4) -> None:
        ptx.ret()

    with pytest.raises(Error, match="template parameter 'X_stride0' has the name of a stride"):
        built(body)
    with pytest.raises(LaunchError, match="unknown keyword 'X_stride0'"):
        built()(halves()[0], X_stride0=16)

    def wide(X: Any, Y: Any) -> None:
        assert [tensor.strides[0].dtype for tensor in (X, Y)] == [u64, u32]
        ptx.ret()

    declared = built(wide, raw_params=[("u64", "X_stride0")])
    assert ".param .u64 X_stride0,\n\t.param .u32 Y_stride0\n" in declared.ptx()
    tile = Tile("M", 4, f32, strides="dynamic")
    assert repr(tile) == "Tile('M', 4, f32, strides='dynamic')"
    assert eval(repr(tile)) == tile != Tile("M", 4, f32)


def test_no_rows_and_no_elements() -> None:
    k = built()
    x = torch.ones(4, 2 * WIDTH)[:, :WIDTH]
    assert k(x[:0]).shape == (0, WIDTH)
    assert torch.equal(k(x), 2 * x)
