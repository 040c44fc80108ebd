# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16


@kernel
def k():
    smem.alloc(bf16, (64, 64), swizzle="128B", align=128)
    ptx.ret()


k.ptx()
