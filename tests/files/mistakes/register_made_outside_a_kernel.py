# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32

accumulator = reg.array(f32, 8)


@kernel
def clear():
    for i in range(8):
        accumulator[i] = 0.0
    ptx.ret()


clear.ptx()
