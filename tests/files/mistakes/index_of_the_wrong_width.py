# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import f32, u64


@kernel
def load():
    tile = smem.alloc(f32, (64, 64))
    row = reg.scalar(u64, init=3)
    tile[0, row] = 1.0
    ptx.ret()


load.ptx()
