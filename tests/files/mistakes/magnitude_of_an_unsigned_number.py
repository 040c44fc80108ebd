# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def magnitude():
    a = reg.scalar(u32, 1)
    a += abs(a)
    ptx.ret()


magnitude.ptx()
