# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f64


@kernel(arch="sm_90a")
def load(X):
    row = reg.array(f64, 4)
    (source,) = ptx.global_ptrs(X)
    ptx.inst.ld.global_.v4.f64(list(row), ptx.addr(source))
    ptx.ret()


load.ptx()
