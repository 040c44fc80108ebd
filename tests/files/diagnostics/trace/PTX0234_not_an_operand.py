# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def k():
    ptx.inst.mov.u32(reg.scalar(u32), {1, 2})
    ptx.ret()


k.ptx()
