# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def average():
    total = reg.scalar(f32, init=1.0)
    lane = ptx.special.laneid()
    total * lane
    ptx.ret()


average.ptx()
