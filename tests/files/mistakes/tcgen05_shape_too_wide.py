# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_100a")
def gemm():
    ptx.tcgen05.make_instr_desc_f16bf16_f32(m=128, n=512)
    ptx.ret()


gemm.ptx()
