# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def product():
    total = reg.scalar(f32, init=0.0)
    ptx.inst.ffma.rn.f32(total, total, total, total)
    ptx.ret()


product.ptx()
