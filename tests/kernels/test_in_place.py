# SPDX-License-Identifier: Apache-2.0
"""In-out tensors and outputs that are filled first: NumPy, bound, saved and open kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, _core, kernel, ptx, reg
from pyptx.types import f32, f64, u8, u16, u32, u64

BLOCK = 64


def add_kernel(**options: Any) -> Any:
    """A += X, Y = the A before."""

    @kernel(
        in_specs=(Tile("N", f32),),
        inout_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        grid=lambda N: (-(-N // BLOCK), 1, 1),
        block=(BLOCK, 1, 1),
        **options,
    )
    def add(X, A, Y):
        (n,) = X.shape
        i = ptx.special.ctaid.x() * BLOCK + ptx.special.tid.x()
        with ptx.if_(i < n):
            x, a = reg.scalar(f32), reg.scalar(f32)
            ptx.ld(f32, x, ptx.at(X, i))
            ptx.ld(f32, a, ptx.at(A, i))
            ptx.st(f32, ptx.at(Y, i), a)
            ptx.st(f32, ptx.at(A, i), a + x)
        ptx.ret()

    return add


def arrays(n: int = 100) -> tuple[Any, Any]:
    return np.arange(n, dtype=np.float32), np.full(n, 7, np.float32)


def check(call: Any, n: int = 100, *, again: bool = True) -> None:
    for _ in range(2 if again else 1):  # the second call is the entry's alone
        x, a = arrays(n)
        before = a.copy()
        y = call(x, a)
        assert np.array_equal(a, before + x)
        assert np.array_equal(y, before)


def test_numpy() -> None:
    add = add_kernel()
    assert [spec.dims for spec in add.inout_specs] == [("N",)]
    check(add)
    assert len(add._live.entry) == 1
    x, a = arrays()
    y = np.empty_like(a)
    assert add(x, a, out=y) is y
    assert np.array_equal(a, 7 + x)


def test_bound_saved_and_open(tmp_path: Path) -> None:
    add = add_kernel(dynamic=("N",))
    check(add)
    check(add.bind(*arrays()))
    add.save(tmp_path / "one.pyptx", N=100)
    loaded = pyptx.load(tmp_path / "one.pyptx")
    assert isinstance(loaded, pyptx.BoundKernel)
    assert [t.name for t in loaded.inputs] == ["X", "A"]
    check(loaded)
    add.save(tmp_path / "any.pyptx")
    every = pyptx.load(tmp_path / "any.pyptx")
    assert isinstance(every, pyptx.OpenKernel)
    for n in (100, 7):
        check(every, n)
    x, a = arrays()
    y = np.zeros_like(a)
    add.launch(x, a, y)
    assert np.array_equal(a, 7 + x)


def test_in_out_alone() -> None:
    @kernel(inout_specs=(Tile("N", u32),), block=(BLOCK, 1, 1))
    def double(A):
        i = ptx.special.tid.x()
        with ptx.if_(i < A.shape[0]):
            a = reg.scalar(u32)
            ptx.ld(u32, a, ptx.at(A, i))
            a += a
            ptx.st(u32, ptx.at(A, i), a)
        ptx.ret()

    a = np.arange(10, dtype=np.uint32)
    assert double(a) is None
    assert double(a) is None
    assert a.tolist() == [4 * i for i in range(10)]


def test_inputs_are_still_read_only() -> None:
    @kernel(in_specs=(Tile(1, f32),), inout_specs=(Tile(1, f32),))
    def wrong(X, A):
        ptx.st(f32, ptx.at(X, 0), 1.0)
        ptx.ret()

    one = np.zeros(1, np.float32)
    with pytest.raises(pyptx.EmulatorError, match="read-only"):
        wrong(one, one.copy())


def test_tensors_that_are_written_share_no_memory() -> None:
    add = add_kernel()
    x, a = arrays()
    with pytest.raises(pyptx.LaunchError, match="'A' and 'Y' share memory"):
        add(x, a, out=a)
    check(add)
    with pytest.raises(pyptx.LaunchError, match="'A' and 'Y' share memory"):
        add(x, a, out=a)  # what the entry knows by now


COUNTED = [(f32, 0), (f32, -1.5), (f64, 0.1), (u8, 7), (u16, 65535), (u32, 3), (u64, 2**63 + 5)]


@pytest.mark.parametrize(("dtype", "value"), COUNTED, ids=str)
def test_outputs_are_filled_first(dtype: Any, value: Any) -> None:
    @kernel(out_specs=(Tile("N", dtype), Tile(3, dtype)), out_init=value, block=(4, 1, 1))
    def some(Y, Z):
        first = reg.scalar(dtype)
        ptx.ld(dtype, first, ptx.at(Y, 1))
        with ptx.if_(ptx.special.tid.x() == 0):
            ptx.st(dtype, ptx.at(Z, 0), first)
        ptx.ret()

    name = {"f": "float", "u": "uint"}[dtype.name[0]] + str(dtype.bits)
    for _ in range(2):
        y, z = np.full(5, 9, name), np.full(3, 9, name)
        some(out=(y, z))
        assert (y == np.asarray(value, name)).all()
        assert (z == np.asarray(value, name)).all()


def test_filled_outputs_of_files(tmp_path: Path) -> None:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), out_init=-2, dynamic=("N",))
    def nothing(X, Y):
        ptx.ret()

    x = np.zeros(6, np.float32)
    assert (nothing(x) == -2).all()
    nothing.save(tmp_path / "one", N=6)
    nothing.save(tmp_path / "any")
    for name in ("one", "any"):
        assert (pyptx.load(tmp_path / name)(x) == -2).all()
    assert (nothing.bind(x)(x) == -2).all()
    plan = nothing.bind(x)._launch.settled.image.plan
    assert plan.text.endswith(" f:1,4,3221225472,6")
    assert _core.LaunchPlan.from_text(plan.text).text == plan.text
    with pytest.raises(pyptx.LaunchError, match="has 3 numbers"):
        _core.LaunchPlan.from_text(plan.text.rpartition(",")[0])


def refused(**options: Any) -> str:
    with pytest.raises(pyptx.LaunchError) as caught:

        @kernel(in_specs=(Tile(4, f32),), **options)
        def k(X, Y):
            ptx.ret()

    return str(caught.value)


def test_declarations_that_are_refused() -> None:
    out = (Tile(4, f32),)
    assert "out_init is" in refused(out_specs=out, out_init="0")
    assert "is of outputs" in refused(inout_specs=out, out_init=0)
    assert "is no value of 'Y', u32" in refused(out_specs=(Tile(4, u32),), out_init=-1)
    assert "still runs" in refused(out_specs=out, out_init=0, programmatic=True)
    rows = (Tile("M", "N", f32, strides="dynamic"),)
    assert "rows may lie apart" in refused(out_specs=rows, out_init=0)
    assert "in place" in refused(inout_specs=(Tile("B", f32),), batch="B")
    assert "1 inout_specs and 1 out_specs" in refused(inout_specs=out, out_specs=out)
