# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def load():
    value = reg.scalar(f32)
    where = reg.scalar(f32, init=16.0)
    ptx.inst.ld.shared.f32(value, ptx.addr(where))
    ptx.ret()


load.ptx()
