# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import b32, f16, f32


@kernel(arch="sm_80")
def gemm():
    a, b = reg.array(b32, 2), reg.array(b32, 2)
    acc = reg.array(f32, 4)
    ptx.mma.sync(
        shape=(16, 8, 16),
        dtype_d=f32,
        dtype_a=f16,
        dtype_b=f16,
        dtype_c=f32,
        d=acc,
        a=a,
        b=b,
        c=acc,
    )
    ptx.ret()


gemm.ptx()
