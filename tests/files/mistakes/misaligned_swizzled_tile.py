# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16


@kernel
def stage():
    smem.alloc(bf16, (128, 64), swizzle="128B", align=256, name="sA")
    ptx.ret()


stage.ptx()
