# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def norm():
    value = reg.scalar(f32, init=1.0)
    ptx.warp.reduce_sum(value, width=3)
    ptx.ret()


norm.ptx()
