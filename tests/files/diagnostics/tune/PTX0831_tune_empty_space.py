# SPDX-License-Identifier: Apache-2.0
import numpy as np

import pyptx
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u64


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(1, 1, 1), block=(32, 1, 1))
def scale(X, Y, *, FACTOR=2.0):
    x, y = ptx.global_ptrs(X, Y)
    offset = reg.from_(ptx.special.tid.x(), u64) << 2
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(x + offset))
    ptx.inst.mul.f32(value, value, FACTOR)
    ptx.inst.st.global_.f32(ptx.addr(y + offset), value)
    ptx.ret()


x = np.ones(32, np.float32)
pyptx.tune(scale, {"FACTOR": []}, (x,))
