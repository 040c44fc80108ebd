# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import pred, u32


@kernel
def mask():
    lane = ptx.special.laneid()
    is_low = reg.scalar(pred)
    ptx.setp("less", u32, is_low, lane, 16)
    ptx.ret()


mask.ptx()
