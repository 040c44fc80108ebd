# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32

kept = []


@kernel
def k():
    kept.append(reg.scalar(u32))
    ptx.ret()


@kernel
def other():
    ptx.inst.add.u32(reg.scalar(u32), kept[0], 1)
    ptx.ret()


k.ptx()
other.ptx()
