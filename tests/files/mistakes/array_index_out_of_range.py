# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def fragment():
    acc = reg.array(f32, 32)
    for i in range(33):
        acc[i] = 0.0
    ptx.ret()


fragment.ptx()
