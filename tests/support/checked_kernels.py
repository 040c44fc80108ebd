# SPDX-License-Identifier: Apache-2.0
"""Kernels with one bug each, for `pyptx.testing.check` to find, and the same without it."""

from __future__ import annotations

from typing import Any

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

THREADS = 64
BINS = 8


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (-(-N // THREADS), 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def double(X, Y, *, bug=None):
    """Y = 2 X: with a tail that is left out, one that is wrong, or a NaN."""
    (n,) = X.shape
    px, py = ptx.global_ptrs(X, Y)
    i = reg.from_(ptx.special.ctaid.x(), u32) * THREADS + ptx.special.tid.x()
    with ptx.if_(i < (n - 1 if bug == "unwritten" else n)):
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + i * 4))
        ptx.inst.mul.f32(value, value, 2.0)
        if bug == "tail":
            with ptx.if_(i >= n // 4 * 4):
                ptx.inst.mov.f32(value, 0.0)
        if bug == "nan":  # of a negative number
            ptx.inst.sqrt.rn.f32(value, value)
            ptx.inst.mul.f32(value, value, value)
        ptx.inst.st.global_.f32(ptx.addr(py + i * 4), value)
    ptx.ret()


@kernel(
    in_specs=(Tile("M", THREADS, f32),),
    out_specs=(Tile("M", THREADS, f32),),
    grid=lambda M: (M, 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def turn(X, Y, *, bug=None):
    """Turn each row around, by way of shared memory: with and without the barrier."""
    px, py = ptx.global_ptrs(X, Y)
    row = smem.alloc(f32, (THREADS,))
    thread = reg.from_(ptx.special.tid.x(), u32)
    offset = (reg.from_(ptx.special.ctaid.x(), u32) * THREADS + thread) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
    row[thread] = value
    if bug != "barrier":
        ptx.bar.sync(0)
    last = reg.scalar(u32, init=THREADS - 1)
    last -= thread
    ptx.inst.st.global_.f32(ptx.addr(py + offset), row[last])
    ptx.ret()


@kernel(
    in_specs=(Tile(THREADS, u32),),
    out_specs=(Tile(BINS, u32),),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def count(X, Y, *, bug=None):
    """Count numbers below BINS in shared memory: by an atomic, or by a load and a store."""
    px, py = ptx.global_ptrs(X, Y)
    bins = smem.alloc(u32, (BINS,))
    thread = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(thread < BINS):
        bins[thread] = 0
    ptx.bar.sync(0)
    number = reg.scalar(u32)
    ptx.inst.ld.global_.u32(number, ptx.addr(px + thread * 4))
    if bug == "race":
        bins[number] = bins[number] + 1
    else:
        ptx.inst.red.shared.add.u32(ptx.addr(bins.address() + number * 4), 1)
    ptx.bar.sync(0)
    with ptx.if_(thread < BINS):
        ptx.inst.st.global_.u32(ptx.addr(py + thread * 4), bins[thread])
    ptx.ret()


@kernel(
    in_specs=(Tile(4 * THREADS, f32),),
    out_specs=(Tile(1, f32),),
    block=(4 * THREADS, 1, 1),
    arch="sm_80",
)
def add_up(X, Y):
    """The sum of all elements by atomics, in whatever order the warps come."""
    px, py = ptx.global_ptrs(X, Y)
    thread = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(thread == 0):
        ptx.inst.st.global_.f32(ptx.addr(py), 0.0)
    ptx.bar.sync(0)
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + thread * 4))
    ptx.inst.red.global_.add.f32(ptx.addr(py), value)
    ptx.ret()


def histogram(x: Any) -> Any:
    import numpy as np

    return np.bincount(x, minlength=BINS)
