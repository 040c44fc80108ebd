# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def count():
    index = reg.scalar(u32, init=0)
    ptx.inst.add(index, index, 1)
    ptx.ret()


count.ptx()
