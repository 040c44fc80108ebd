# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def scale():
    index = reg.scalar(u32, init=3)
    ptx.inst.mul.lo.u32(index, index, 1.5)
    ptx.ret()


scale.ptx()
