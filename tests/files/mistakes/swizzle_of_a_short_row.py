# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16


@kernel
def stage():
    smem.alloc(bf16, (64, 32), swizzle="128B")
    ptx.ret()


stage.ptx()
