# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16

STAGES = 3


@kernel
def pipeline():
    tiles = smem.alloc(bf16, (STAGES, 128, 64), swizzle="128B")
    for stage in range(STAGES + 1):
        tiles[stage].address()
    ptx.ret()


pipeline.ptx()
