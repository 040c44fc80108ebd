# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32, u32


@kernel
def load():
    value = reg.scalar(f32)
    where = reg.scalar(u32, init=16)
    ptx.inst.ld.global_.f32(value, ptx.addr(where))
    ptx.ret()


load.ptx()
