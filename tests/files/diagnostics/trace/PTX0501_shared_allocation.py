# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16


@kernel
def k():
    smem.alloc(bf16, (64, 20), swizzle="32B")
    ptx.ret()


k.ptx()
