# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def square():
    x = reg.scalar(f32, 7.0)
    x += x**2
    ptx.ret()


square.ptx()
