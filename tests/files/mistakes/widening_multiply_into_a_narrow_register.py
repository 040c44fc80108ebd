# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def offset():
    row = ptx.special.ctaid.x()
    bytes_ = reg.scalar(u32)
    ptx.inst.mul.wide.u32(bytes_, row, 4096)
    ptx.ret()


offset.ptx()
