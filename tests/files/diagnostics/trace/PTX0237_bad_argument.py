# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def k():
    ptx.warp.reduce_sum(reg.scalar(f32, init=1.0), width=3)
    ptx.ret()


k.ptx()
