# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32, u64


@kernel
def offset():
    base = reg.scalar(u64, init=0)
    lane = ptx.special.laneid()
    ptx.add(u32, lane, lane, base)
    ptx.ret()


offset.ptx()
