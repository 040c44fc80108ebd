# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def flag():
    lane = ptx.special.laneid()
    is_first = lane == 0
    word = reg.scalar(u32)
    ptx.inst.mov.u32(word, is_first)
    ptx.ret()


flag.ptx()
