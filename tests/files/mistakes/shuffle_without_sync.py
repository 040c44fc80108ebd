# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import b32


@kernel
def reduce():
    value = reg.scalar(b32)
    other = reg.scalar(b32)
    ptx.inst.shfl.bfly.b32(other, value, 16, 31)
    ptx.ret()


reduce.ptx()
