# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def walk():
    at, left = reg.scalar(u32, 0), reg.scalar(u32, 4)
    with ptx.while_(lambda: left > 0):
        at = at + 16
        left -= 1
    ptx.ret()


walk.ptx()
