# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def choose():
    a = reg.scalar(u32, 1)
    a += ptx.select(a, 1, 0)
    ptx.ret()


choose.ptx()
