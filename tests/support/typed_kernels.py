# SPDX-License-Identifier: Apache-2.0
"""Kernels whose element types a call gives."""

from __future__ import annotations

from typing import Any

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

WIDTH = 8


def loaded(dtype: Any, address: Any) -> Any:
    """Load one element of f32, f16 or bf16 as an f32."""
    value, bits = reg.scalar(f32), reg.scalar(dtype)
    getattr(ptx.inst.ld.global_, f"b{dtype.bits}")(bits, ptx.addr(address))
    if dtype is f32:
        ptx.inst.mov.f32(value, bits)
    else:
        getattr(ptx.inst.cvt.f32, dtype.name)(value, bits)
    return value


def store(dtype: Any, address: Any, value: Any) -> None:
    """Store an f32 as one element of f32, f16 or bf16."""
    bits = reg.scalar(dtype)
    if dtype is f32:
        ptx.inst.mov.f32(bits, value)
    else:
        getattr(ptx.inst.cvt.rn, dtype.name).f32(bits, value)
    getattr(ptx.inst.st.global_, f"b{dtype.bits}")(ptx.addr(address), bits)


def element(tensor: Any, row: Any, column: Any, pointer: Any) -> Any:
    return pointer + (row * WIDTH + column) * (tensor.dtype.bits // 8)


def build_sum(result: str = "T", **options: Any) -> Any:
    """Z = X + Y of one type, in the type named `result`."""

    @kernel(
        in_specs=(Tile("M", WIDTH, dtype="T"), Tile("M", WIDTH, dtype="T")),
        out_specs=(Tile("M", WIDTH, dtype=result),),
        grid=lambda M: (M, 1, 1),
        block=(WIDTH, 1, 1),
        **{"arch": "sm_90a", **options},
    )
    def typed_sum(X, Y, Z):
        px, py, pz = ptx.global_ptrs(X, Y, Z)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        column = reg.from_(ptx.special.tid.x(), u32)
        x = loaded(X.dtype, element(X, row, column, px))
        y = loaded(Y.dtype, element(Y, row, column, py))
        ptx.inst.add.f32(x, x, y)
        store(Z.dtype, element(Z, row, column, pz), x)
        ptx.ret()

    return typed_sum
