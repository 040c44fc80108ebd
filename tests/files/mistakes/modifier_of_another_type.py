# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def scale():
    total = reg.scalar(f32, init=1.0)
    ptx.inst.mul.hi.f32(total, total, 4.0)
    ptx.ret()


scale.ptx()
