# SPDX-License-Identifier: Apache-2.0
"""Kernels with configurations of every kind: good, wrong, faulting, hanging, too large, slow."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32, u64

X = np.arange(1, 513, dtype=np.float32)
STAGE = 256  # floats of a stage of shared memory, for THREADS=64


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N, ITEMS: (N // (64 * ITEMS), 1, 1),
    block=(64, 1, 1),
)
def doubled(X, Y, *, ITEMS=1, UNUSED=0):
    """Template parameters; UNUSED changes nothing."""
    _body(X, Y, 64, ITEMS)


def build(
    THREADS: int = 64, ITEMS: int = 1, STAGES: int = 0, FAULT: str = "", SMEM: int = 0
) -> Any:
    """A kernel of a configuration; FAULT says what is wrong with it."""
    if FAULT == "builder":
        raise ValueError("no such kernel")
    if FAULT == "bug":
        raise KeyError("a fault of the builder")

    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        grid=lambda N: (N // (THREADS * ITEMS), 1, 1),
        block=(THREADS, 1, 1),
        smem=SMEM,
    )
    def doubled(X, Y):
        if STAGES:
            smem.alloc(f32, (STAGES, STAGE), name="ring")
        _body(X, Y, THREADS, ITEMS, FAULT)

    return doubled


def _body(x: Any, y: Any, threads: int, items: int, fault: str = "") -> None:
    source, target = ptx.global_ptrs(x, y)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    tid = reg.from_(ptx.special.tid.x(), u32)
    if fault == "hang":
        with ptx.range_(0, 1 << 31):
            ptx.inst.add.u32(tid, tid, 0)
    if fault == "deadlock":
        with ptx.if_(tid < 32):
            ptx.inst.barrier.sync(1, 64)
    value, offset = reg.scalar(f32), reg.scalar(u64)
    for item in range(items):
        ptx.inst.mul.wide.u32(offset, cta * (items * threads) + tid + item * threads, 4)
        ptx.inst.ld.global_.f32(value, ptx.addr(source + offset))
        ptx.inst.mul.f32(value, value, 3.0 if fault == "wrong" else 2.0)
        if fault == "outside":
            offset += 1 << 40
        if not (fault == "unwritten" and item == 0):
            ptx.inst.st.global_.f32(ptx.addr(target + offset), value)
    ptx.ret()


@kernel(in_specs=(Tile("N", f32),), grid=(1, 1, 1), block=(64, 1, 1))
def doubled_in_place(X, *, FACTOR=2.0):
    """Writes its input."""
    (place,) = ptx.global_ptrs(X)
    offset = reg.from_(ptx.special.tid.x(), u64) << 2
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(place + offset))
    ptx.inst.mul.f32(value, value, FACTOR)
    ptx.inst.st.global_.f32(ptx.addr(place + offset), value)
    ptx.ret()


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N, ITEMS: (N // (64 * ITEMS), 1, 1),
    block=(64, 1, 1),
    raw_params=(("f32", "factor"),),
)
def scaled(X, Y, *, ITEMS=1):
    """With a scalar that each call brings."""
    source, target = ptx.global_ptrs(X, Y)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    tid = reg.from_(ptx.special.tid.x(), u32)
    factor, value, offset = ptx.param(f32, "factor"), reg.scalar(f32), reg.scalar(u64)
    for item in range(ITEMS):
        ptx.inst.mul.wide.u32(offset, cta * (ITEMS * 64) + tid + item * 64, 4)
        ptx.inst.ld.global_.f32(value, ptx.addr(source + offset))
        ptx.inst.mul.f32(value, value, factor)
        ptx.inst.st.global_.f32(ptx.addr(target + offset), value)
    ptx.ret()
