# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import b32, u32


@kernel(arch="sm_100a")
def epilogue():
    where = smem.alloc(u32, (1,))
    base = smem.load(u32, where)
    out = reg.array(b32, 16)
    ptx.tcgen05.ld(out, base, shape="32x32b", count=32)
    ptx.ret()


epilogue.ptx()
