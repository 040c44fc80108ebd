# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def count():
    lane = ptx.special.laneid()
    total = reg.scalar(u32, 0)
    total += lane < 4
    ptx.ret()


count.ptx()
