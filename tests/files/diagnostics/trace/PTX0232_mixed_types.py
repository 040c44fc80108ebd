# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32, u32


@kernel
def k():
    total = reg.scalar(u32, init=1)
    scale = reg.scalar(f32, init=0.5)
    total + scale
    ptx.ret()


k.ptx()
