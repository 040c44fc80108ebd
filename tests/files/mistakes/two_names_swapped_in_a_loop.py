# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def swap():
    a, b = reg.scalar(u32, 0), reg.scalar(u32, 1)
    for _ in ptx.range_(3):
        a, b = b, a
    ptx.ret()


swap.ptx()
