# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def load(X):
    value = reg.scalar(f32)
    (source,) = ptx.global_ptrs(X)
    ptx.inst.ld.globl.f32(value, ptx.addr(source))
    ptx.ret()


load.ptx()
