# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def k():
    count = reg.scalar(u32, init=0)
    count + 2**32
    ptx.ret()


k.ptx()
