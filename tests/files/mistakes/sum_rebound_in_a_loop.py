# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def total():
    a = reg.scalar(u32, 0)
    for i in ptx.range_(8):
        a = a + i
    ptx.ret()


total.ptx()
