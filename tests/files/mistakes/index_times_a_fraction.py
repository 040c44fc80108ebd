# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def scaled():
    i = reg.scalar(u32, 3)
    i * 0.5
    ptx.ret()


scaled.ptx()
