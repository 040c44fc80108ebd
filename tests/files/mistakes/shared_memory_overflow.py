# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import bf16


@kernel(arch="sm_90a")
def pipeline():
    smem.alloc(bf16, (8, 128, 64), swizzle="128B", name="sA")
    smem.alloc(bf16, (8, 128, 64), swizzle="128B", name="sB")
    ptx.ret()


pipeline.ptx()
