# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def widen():
    index = reg.scalar(u32, init=1)
    ptx.inst.add.u32(index, index, 1, 2)
    ptx.ret()


widen.ptx()
