# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def mask():
    lane = ptx.special.laneid()
    word = reg.scalar(u32)
    ptx.inst.setp.lt.u32(word, lane, 16)
    ptx.ret()


mask.ptx()
