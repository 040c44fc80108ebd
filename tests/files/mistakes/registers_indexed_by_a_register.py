# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def pick():
    values = reg.array(u32, 4)
    lane = ptx.special.laneid()
    ptx.inst.mov.u32(lane, values[lane])
    ptx.ret()


pick.ptx()
