# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def load(X):
    row = reg.array(f32, 3)
    (source,) = ptx.global_ptrs(X)
    ptx.inst.ld.global_.v4.f32(list(row), ptx.addr(source))
    ptx.ret()


load.ptx()
