# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import b32, f16


@kernel(arch="sm_80")
def fragment():
    tile = smem.alloc(f16, (16, 16))
    a = reg.array(b32, 2)
    ptx.ldmatrix(dst=a, src=tile, layout="x4")
    ptx.ret()


fragment.ptx()
