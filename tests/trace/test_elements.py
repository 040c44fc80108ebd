# SPDX-License-Identifier: Apache-2.0
"""ptx.at and X.ptr: what they address, and offsets of 32 bits that do not reach a tensor's end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyptx import Layout, Tile, TraceWarning, kernel, ptx, reg
from pyptx.types import f32, s32, u16, u32, u64

BLOCK = 32


def picks(tile: Tile, index: Any, **options: Any) -> Any:
    """A kernel that copies X[i, j] of index pairs, by ptx.at and by X.ptr."""

    @kernel(
        in_specs=(tile, Tile("P", index), Tile("P", index)),
        out_specs=(Tile("P", f32), Tile("P", f32)),
        block=(BLOCK, 1, 1),
        **options,
    )
    def pick(X, I, J, Y, Z):  # noqa: E741
        t = ptx.special.tid.x()
        with ptx.if_(t < I.shape[0]):
            i, j, x = reg.scalar(index), reg.scalar(index), reg.scalar(f32)
            ptx.ld(index, i, ptx.at(I, t))
            ptx.ld(index, j, ptx.at(J, t))
            ptx.ld(f32, x, ptx.at(X, i, j))
            ptx.st(f32, ptx.at(Y, t), x)
            ptx.ld(f32, x, X.ptr(i, j))
            ptx.st(f32, Z.ptr(t), x)
        ptx.ret()

    return pick


def check(pick: Any, x: Any, index: str) -> None:
    rows, columns = x.shape
    i = np.array([0, rows - 1, rows // 2, 1, 0], dtype=index)
    j = np.array([0, columns - 1, 1, columns // 2, 2], dtype=index)
    for found in pick(x, i, j):
        assert np.array_equal(found, x[i, j])


def matrix(rows: int, columns: int) -> Any:
    return np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)


@pytest.mark.parametrize("index", [u32, s32, u64, u16], ids=lambda t: t.name)
def test_fixed_sizes(index: Any) -> None:
    names = {"u32": "uint32", "s32": "int32", "u64": "uint64", "u16": "uint16"}
    check(picks(Tile(7, 9, f32), index), matrix(7, 9), names[index.name])


def test_sizes_and_strides_of_the_launch() -> None:
    tile = Tile("M", "N", f32)
    check(picks(tile, u32, dynamic=("M", "N")), matrix(5, 6), "uint32")
    check(picks(Tile("M", "N", f32, layout=Layout.COL), u32), matrix(6, 5).T, "uint32")
    check(picks(Tile("M", "N", f32, strides="dynamic"), s32), matrix(8, 12)[:, 2:9], "int32")


def lints(write: Callable[[Any], object], size: int) -> list[TraceWarning]:
    """What tracing says of a kernel over so many floats."""

    @kernel(in_specs=(Tile("N", f32),))
    def k(X):
        write(X)
        ptx.ret()

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        k.ptx(N=size)
    return [x.message for x in found if isinstance(x.message, TraceWarning)]


def narrow(X: Any) -> None:
    (px,) = ptx.global_ptrs(X)
    for _ in range(3):
        px + ptx.special.tid.x() * 4


def narrow_in_an_address(X: Any) -> None:
    (px,) = ptx.global_ptrs(X)
    ptx.ld(f32, reg.scalar(f32), ptx.addr(px, ptx.special.tid.x() * 4))


def signed(X: Any) -> None:
    (px,) = ptx.global_ptrs(X)
    reg.scalar(s32) + px


def wide(X: Any) -> None:
    (px,) = ptx.global_ptrs(X)
    row = px + reg.from_(ptx.special.tid.x(), u64) * 4
    row + ptx.special.tid.x() * 4  # of a row that was counted in 64 bits
    ptx.ld(f32, reg.scalar(f32), ptx.at(X, ptx.special.tid.x()))
    px + 16


@pytest.mark.parametrize(
    ("write", "size", "count"),
    [
        (narrow, 1 << 30, 0),
        (narrow, (1 << 30) + 1, 1),
        (narrow_in_an_address, 1 << 31, 1),
        (signed, 1 << 29, 0),
        (signed, (1 << 29) + 1, 1),
        (wide, 1 << 40, 0),
    ],
)
def test_offsets_that_are_too_narrow(write: Any, size: int, count: int) -> None:
    found = lints(write, size)
    assert len(found) == count
    for warning in found:
        assert warning.diagnostic.code == "PTX0244"
        assert warning.diagnostic.severity == "lint"
        assert warning.diagnostic.file == __file__
        assert "X.ptr" in str(warning)
