# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel(raw_params=[("u32", "n")])
def loop():
    n = ptx.param(u32, "n")
    total = reg.scalar(u32, init=0)
    for i in range(n):
        total += i
    ptx.ret()


loop.ptx()
