# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def product():
    a, b = reg.scalar(f32, 1.0), reg.scalar(f32, 2.0)
    a += a @ b
    ptx.ret()


product.ptx()
