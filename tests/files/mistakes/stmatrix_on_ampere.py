# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import b32, f16


@kernel(arch="sm_80")
def epilogue():
    tile = smem.alloc(f16, (16, 16))
    ptx.stmatrix(smem=tile, regs=reg.array(b32, 4))
    ptx.ret()


epilogue.ptx()
