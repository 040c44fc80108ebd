# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def k():
    x = reg.scalar(f32, init=0.5)
    ptx.printf("x = %d\n", x)
    ptx.ret()


k.ptx()
