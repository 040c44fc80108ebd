# SPDX-License-Identifier: Apache-2.0
"""Kernels whose sizes come with each launch, and so can be carried for any."""

from __future__ import annotations

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (-(-N // 64), 1, 1),
    block=(64, 1, 1),
    dynamic=("N",),
    arch="sm_80",
)
def twice(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    index = reg.from_(ptx.special.ctaid.x(), u32) * 64 + ptx.special.tid.x()
    with ptx.if_(index < X.shape[0]):
        x = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + index * 4))
        ptx.inst.add.f32(x, x, x)
        ptx.inst.st.global_.f32(ptx.addr(py + index * 4), x)
    ptx.ret()
