# SPDX-License-Identifier: Apache-2.0
"""Kernels that tests of the page look at, and views of them, each made once."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx._view.view import View
from pyptx.types import f32, u32
from support.tree import ROOT

sys.path.insert(0, str(ROOT / "examples" / "hopper"))

#: What must never become markup, wherever a page shows it.
HOSTILE = "</script><img src=x onerror=alert(1)><!--"


def load(pointer: Any) -> Any:
    """Load an element: a helper, whose line its instruction belongs to."""
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(pointer))  # the helper's line
    return value


def build_sum_of_two(arch: str = "sm_80") -> Any:
    """Y = X + W, by a helper that is called twice."""

    @kernel(
        in_specs=(Tile(64, f32), Tile(64, f32)),
        out_specs=(Tile(64, f32),),
        grid=(2,),
        block=(32, 1, 1),
        arch=arch,
    )
    def sum_of_two(X, W, Y):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        block = reg.from_(ptx.special.ctaid.x(), u32) * 32
        offset = (block + ptx.special.tid.x()) * 4
        x = load(px + offset)  # first call
        w = load(pw + offset)  # second call
        ptx.inst.add.f32(x, x, w)
        ptx.inst.st.global_.f32(ptx.addr(py + offset), x)  # the sum's line
        ptx.ret()

    return sum_of_two


def build_long(count: int, arch: str = "sm_80") -> Any:
    """Two instructions for each of `count`, from two lines of source."""

    @kernel(
        in_specs=(Tile(32, f32),),
        out_specs=(Tile(32, f32),),
        grid=(1,),
        block=(32, 1, 1),
        arch=arch,
    )
    def long(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        offset = reg.from_(ptx.special.tid.x(), u32) * 4
        sums = [load(px + offset) for _ in range(16)]
        for i in range(count):
            ptx.inst.fma.rn.f32(
                sums[i % 16], sums[(i + 1) % 16], sums[(i * 7 + 3) % 16], sums[i % 16]
            )
            ptx.inst.mul.rn.f32(sums[(i + 5) % 16], sums[(i + 5) % 16], sums[(i * 3 + 2) % 16])
        for other in sums[1:]:
            ptx.inst.add.f32(sums[0], sums[0], other)
        ptx.inst.st.global_.f32(ptx.addr(py + offset), sums[0])
        ptx.ret()

    return long


@functools.cache
def gemm_view() -> View:
    """The Hopper example, with a run of 4 tiles of K in 2 CTAs."""
    import torch
    from gemm import build_gemm

    random = np.random.default_rng(1)
    a, b = (
        torch.from_numpy(random.standard_normal((rows, 256)).astype(np.float32)).bfloat16()
        for rows in (128, 256)
    )
    view: View = build_gemm().view(a, b)
    return view


@functools.cache
def sum_view() -> View:
    """The kernel with a helper, run."""
    ones = np.ones(64, np.float32)
    view: View = build_sum_of_two().view(ones, ones)
    return view
