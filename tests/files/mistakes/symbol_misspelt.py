# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def table():
    ptx.var("shared", f32, "cache", size=16)
    value = reg.scalar(f32)
    ptx.inst.ld.shared.f32(value, ptx.addr("cahce"))
    ptx.ret()


table.ptx()
