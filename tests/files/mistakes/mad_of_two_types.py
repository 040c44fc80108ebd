# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32, u32


@kernel
def product():
    a, x = reg.scalar(u32, 1), reg.scalar(f32, 1.0)
    ptx.mad(a, a, x)
    ptx.ret()


product.ptx()
