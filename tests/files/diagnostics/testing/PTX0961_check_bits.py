# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import Tile, kernel, ptx, reg, testing
from pyptx.types import f32, u32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile(1, f32),), block=(256, 1, 1), arch="sm_80")
def total(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    thread = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(thread == 0):
        ptx.inst.st.global_.f32(ptx.addr(py), 0.0)
    ptx.bar.sync(0)
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + thread * 4))
    ptx.inst.red.global_.add.f32(ptx.addr(py), value)
    ptx.ret()


x = np.random.default_rng(1).standard_normal(256, np.float32)
testing.check(total, lambda x: x.sum(keepdims=True), [x], frameworks="numpy")
