# SPDX-License-Identifier: Apache-2.0
"""A kernel with numbers that come at run time, and what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32


def make_scale(**options: Any) -> Any:
    """y[i] = alpha * x[i] for i < count, else N; count and alpha come at run time."""

    @kernel(
        arch="sm_90a",
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        block=(64, 1, 1),
        raw_params=[("f32", "alpha"), ("u32", "N"), ("u32", "count")],
        **options,
    )
    def scale(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        alpha, n, count = ptx.param(f32, "alpha"), ptx.param(u32, "N"), ptx.param(u32, "count")
        tid = reg.from_(ptx.special.tid.x(), u32)
        with ptx.if_(tid < n):
            value = reg.scalar(f32)
            ptx.inst.cvt.rn.f32.u32(value, n)
            with ptx.if_(tid < count):
                ptx.inst.ld.global_.f32(value, ptx.addr(px + tid * 4))
                ptx.inst.mul.f32(value, value, alpha)
            ptx.inst.st.global_.f32(ptx.addr(py + tid * 4), value)
        ptx.ret()

    return scale


def expected(x: Any, alpha: float, count: int) -> Any:
    x = np.asarray(x)
    return np.where(np.arange(x.size) < count, x * np.float32(alpha), np.float32(x.size))


X = np.arange(1, 41, dtype=np.float32)
