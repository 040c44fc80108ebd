# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def forever():
    i = reg.scalar(u32, 0)
    with ptx.while_(True):
        i += 1
    ptx.ret()


forever.ptx()
