# SPDX-License-Identifier: Apache-2.0
"""Sizes that a launch brings: one trace for all of them, in every way of calling a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import ArgumentValueError, Layout, Tile, kernel, ptx, reg, smem
from pyptx._errors import Error
from pyptx.kernel import Kernel
from pyptx.types import f32, u32, u64
from support.packages import need

torch = need("torch")
WIDTH = 8


def double(X: Any, Y: Any) -> None:
    """y = 2 x, an element a thread."""
    px, py = ptx.global_ptrs(X, Y)
    index = reg.from_(ptx.special.ctaid.x(), u32) * 32 + reg.from_(ptx.special.tid.x(), u32)
    rows, columns = X.shape
    with ptx.if_(index < rows * columns):
        value, place = reg.scalar(f32), reg.scalar(u64)
        ptx.inst.mul.wide.u32(place, index, 4)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
        ptx.inst.add.f32(value, value, value)
        ptx.inst.st.global_.f32(ptx.addr(py + place), value)


def built(body: Any = double, *, columns: Any = "N", **options: Any) -> Kernel:
    matrix = Tile("M", columns, f32)
    options = {"arch": "auto", "dynamic": ("M", "N") if columns == "N" else ("M",), **options}
    grid = (lambda M, N: (-(-M * N // 32), 1, 1)) if columns == "N" else (lambda M: (M, 1, 1))
    made: Kernel = kernel(
        in_specs=(matrix,), out_specs=(matrix,), grid=grid, block=(32, 1, 1), **options
    )(body)
    return made


def traces(k: Kernel) -> int:
    return len(k.specializer._traces)


def test_one_trace_serves_two_hundred_sizes() -> None:
    k = built()
    rng = np.random.default_rng(0)
    for size in {tuple(map(int, pair)) for pair in rng.integers(1, 40, (200, 2))}:
        x = torch.randn(size)
        assert torch.equal(k(x), 2 * x)
        assert torch.equal(k(x, out=torch.empty(size)), 2 * x)
    assert traces(k) == 1
    text = k.ptx()
    assert text == k.ptx(M=3) == k.ptx(M=1000, N=7)
    assert [text.count(f"[{name}];") for name in ("M", "N")] == [1, 1]
    assert ".param .u32 M,\n\t.param .u32 N\n" in text


def test_one_assembly_serves_them(tmp_path: Path) -> None:
    from pyptx import cache

    k = built(arch="sm_90a")
    cubins = set()
    cache.set_global_cache(cache.CubinCache(str(tmp_path)))
    try:
        for m in (1, 5, 64, 1000):
            shapes = ((m, 8), (m, 8))
            image = k.specializer.image(k._inspect({})[0], (m, 1, 1), {"M": m, "N": 8}, (), shapes)
            cubins.add(bytes(image.cubin()))
        kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    finally:
        cache.set_global_cache(None)
    assert len(cubins) == 1
    assert len(kept) == 1, kept


def test_some_sizes_stay_in_the_trace() -> None:
    k = built(dynamic=("M",))
    for m, n in ((3, 8), (5, 8), (7, 8), (7, 12)):
        x = torch.randn(m, n)
        assert torch.equal(k(x), 2 * x)
    assert traces(k) == 2
    assert "[N]" not in k.ptx(N=8)


def rows_sum(X: Any, Y: Any) -> None:
    """y[0, n] = sum of x[m, n]: a loop as long as the launch says, for one CTA."""
    rows = X.shape[0]
    px, py = ptx.global_ptrs(X, Y)
    lane = reg.from_(ptx.special.tid.x(), u32)
    total = reg.scalar(f32, init=0.0)
    with ptx.if_(lane < WIDTH):
        with ptx.range_(0, rows) as row:
            value, place = reg.scalar(f32), reg.scalar(u64)
            ptx.inst.mul.wide.u32(place, row * WIDTH + lane, 4)
            ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
            ptx.inst.add.f32(total, total, value)
        out = reg.scalar(u64)
        ptx.inst.mul.wide.u32(out, lane, 4)
        ptx.inst.st.global_.f32(ptx.addr(py + out), total)


def test_a_loop_as_long_as_the_launch_says() -> None:
    k = kernel(
        in_specs=(Tile("M", WIDTH, f32),), out_specs=(Tile(WIDTH, f32),), block=(32, 1, 1),
        arch="auto", dynamic=("M",),
    )(rows_sum)  # fmt: skip
    for rows in (1, 2, 3, 50, 51):
        x = torch.randn(rows, WIDTH, dtype=torch.float64).float()
        torch.testing.assert_close(k(x), x.double().sum(0).float())
    assert traces(k) == 1


def test_a_size_first_read_in_a_branch_is_known_everywhere() -> None:
    def body(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        with ptx.if_(row == 10_000):
            ptx.inst.st.global_.u32(ptx.addr(py), X.shape[0])
        with ptx.if_(row == X.shape[0] - 1):
            value, place = reg.scalar(f32), reg.scalar(u64)
            ptx.inst.mul.wide.u32(place, row, WIDTH * 4)
            ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
            with ptx.if_(reg.from_(ptx.special.tid.x(), u32) == 0):
                ptx.inst.st.global_.f32(ptx.addr(py + place), value)

    k = built(body, columns=WIDTH)
    x = torch.randn(5, WIDTH)
    assert k(x, out=torch.zeros(5, WIDTH))[4, 0] == x[4, 0]
    assert k.ptx().count("ld.param.u32") == 1


@pytest.mark.parametrize("tma", ["value", "pointer"])
def test_tensor_maps_have_the_sizes_of_the_call(tma: str) -> None:
    """The last rows of a box lie outside of the tensor: zeros come in, and nothing goes out."""
    box = (16, 32)

    def body(X: Any, Y: Any) -> None:
        tile = smem.alloc(f32, (1, *box), swizzle="128B", align=1024)
        bar = smem.mbarrier(1)
        row = reg.from_(ptx.special.ctaid.x(), u32) * box[0]
        with ptx.if_(reg.from_(ptx.special.tid.x(), u32) == 0):
            ptx.mbarrier.init(bar[0], 1)
            ptx.fence.proxy_async_shared_cta()
            ptx.mbarrier.arrive_expect_tx(bar[0], box[0] * box[1] * 4)
            ptx.cp.async_.bulk.tensor_2d(dst=tile[0], src=X.tma_desc(), coord=(0, row), mbar=bar[0])
            ptx.mbarrier.wait(bar[0], 0)
            ptx.cp.async_.bulk.tensor.store_2d(dst=Y.tma_desc(), src=tile[0], coord=(0, row))
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0)

    matrix = Tile("M", 32, f32, Layout.TMA_128B, tma_box=box)
    k = kernel(
        in_specs=(matrix,), out_specs=(matrix,), grid=lambda M: (-(-M // 16), 1, 1),
        block=(32, 1, 1), arch="sm_90a", tma=tma, dynamic=("M",),
    )(body)  # fmt: skip
    for rows in (16, 20, 33, 7):
        x = torch.randn(rows, 32)
        assert torch.equal(k(x), x)
    assert traces(k) == 1


def test_in_numpy_and_jax() -> None:
    jax = need("jax")
    k = built()
    jitted = jax.jit(lambda x: k(x) + 1)
    for m in (2, 3, 5):
        x = np.arange(m * 4, dtype=np.float32).reshape(m, 4)
        np.testing.assert_array_equal(k(x), 2 * x)
        np.testing.assert_array_equal(k(jax.numpy.asarray(x)), 2 * x)
        np.testing.assert_array_equal(jitted(x), 2 * x + 1)
    assert traces(k) == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_in_compiled_graphs(dynamic: bool) -> None:
    from pyptx._torch import naming

    k = built()
    compiled = torch.compile(lambda x: k(x) + 1, fullgraph=True, dynamic=dynamic, backend="eager")
    for m in (3, 5, 7, 9):
        x = torch.randn(m, 4)
        assert torch.equal(compiled(x), 2 * x + 1)
    assert traces(naming.operator_of(k._operator_name).kernel) == 1


def test_bound_and_saved_kernels_have_the_sizes_they_were_made_for(tmp_path: Path) -> None:
    k = built()
    x = torch.randn(6, 4)
    assert torch.equal(k.bind(x)(x), 2 * x)
    path = tmp_path / "double.pyptx"
    k.save(path, M=6, N=4)
    assert torch.equal(pyptx.load(path)(x), 2 * x)
    with pytest.raises(ValueError, match=r"\(7, 4\)"):
        pyptx.load(path)(torch.randn(7, 4))


def test_a_parameter_may_be_declared_with_another_type() -> None:
    def body(X: Any, Y: Any) -> None:
        assert X.shape[0].dtype is u64
        double(X, Y)

    k = built(body, columns=WIDTH, raw_params=[("u64", "M"), ("f32", "scale")], dynamic=("M",))
    assert ".param .u64 M,\n\t.param .f32 scale\n" in k.ptx()
    x = torch.randn(3, WIDTH)
    assert torch.equal(k(x, scale=2.0), 2 * x)


def test_what_is_promised_is_checked_and_known() -> None:
    seen = []

    def body(X: Any, Y: Any) -> None:
        seen.append((X.divisors, Y.divisors))
        double(X, Y)

    k = built(body, columns=WIDTH, dynamic=("M",), multiple_of={"M": 4})
    k.ptx()
    assert seen == [((4, WIDTH), (4, WIDTH))]
    x = torch.randn(8, WIDTH)
    assert torch.equal(k(x), 2 * x)
    with pytest.raises(ArgumentValueError, match="so M = 6, but multiple_of says") as caught:
        k(x[:6])
    assert caught.value.diagnostics[0].code == "PTX0872"
    with pytest.raises(
        ValueError, match="M=6 was given, but multiple_of says that M is a multiple of 4"
    ):
        k.ptx(M=6)
    baked = built(body, columns=WIDTH, dynamic=(), multiple_of={"M": 4})
    baked.ptx(M=12)
    assert seen[-1] == ((12, WIDTH), (12, WIDTH))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dynamic": "M"}, TypeError, r"names of dimensions, as in \('M',\)"),
        ({"dynamic": (1,)}, TypeError, "names of dimensions"),
        ({"dynamic": ("K",)}, ValueError, "dynamic='K' is no named dimension; there are: M, N"),
        ({"multiple_of": {"K": 2}}, TypeError, "names no dimension; the named ones are M, N"),
        ({"multiple_of": {"M": 0}}, ValueError, "is no number of 1 or more"),
        ({"multiple_of": {"M": 1.5}}, TypeError, "a whole number"),
    ],
)
def test_declarations_that_say_nothing(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        built(**options)
    assert isinstance(caught.value, Error)
    assert caught.value.diagnostics


def test_a_name_is_one_thing() -> None:
    def template(X: Any, Y: Any, *, M: int) -> None:
        double(X, Y)

    with pytest.raises(ValueError, match="is a template parameter too"):
        built(template)
    with pytest.raises(ValueError, match="is a tensor's name too"):
        kernel(in_specs=(Tile("X", f32),), out_specs=(Tile("X", f32),), dynamic=("X",))(double)


def test_a_size_without_a_value_is_no_python_number() -> None:
    def ranges(X: Any, Y: Any) -> None:
        for _ in range(X.shape[0]):
            pass

    with pytest.raises(TypeError, match=r"a loop over it is ptx.range_\(n\)"):
        built(ranges).ptx()


def test_a_size_that_the_parameter_cannot_hold() -> None:
    k = built(columns=WIDTH, raw_params=[("u8", "M")], dynamic=("M",))
    assert torch.equal(k(torch.ones(255, WIDTH)), torch.full((255, WIDTH), 2.0))
    with pytest.raises(ValueError, match="256"):
        k(torch.ones(256, WIDTH))


def test_no_elements() -> None:
    k = built()
    assert k(torch.ones(0, 4)).shape == (0, 4)
    x = torch.ones(2, 4)
    assert torch.equal(k(x), 2 * x)
