# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import b32, bf16, f32


@kernel(arch="sm_80")
def gemm():
    acc = reg.array(f32, 4)
    a = reg.array(b32, 4)
    types = {"dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "dtype_c": f32}
    ptx.mma.sync(shape=(16, 8, 16), **types, d=acc, a=a, b=[a[0], object()], c=acc)
    ptx.ret()


gemm.ptx()
