# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def fused():
    a = reg.scalar(f32, init=1.0)
    b = reg.scalar(f32, init=2.0)
    ptx.inst.fma.rn.f32(a, a, b)
    ptx.ret()


fused.ptx()
