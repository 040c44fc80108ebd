# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def count():
    i = reg.scalar(u32, 0)
    with ptx.while_(i < 10):
        i += 1
    ptx.ret()


count.ptx()
