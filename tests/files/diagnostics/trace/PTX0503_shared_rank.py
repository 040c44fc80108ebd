# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import f32


@kernel
def k():
    tile = smem.alloc(f32, (2, 4))
    tile[0, 0, 0]
    ptx.ret()


k.ptx()
