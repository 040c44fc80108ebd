# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def put():
    values = reg.array(u32, 4)
    lane = ptx.special.laneid()
    values[lane] = lane
    ptx.ret()


put.ptx()
