# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def k():
    ptx.inst.ld.global_.u32(reg.scalar(u32), ptx.addr("table"))
    ptx.ret()


k.ptx()
