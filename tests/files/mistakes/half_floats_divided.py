# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f16


@kernel
def half():
    x = reg.scalar(f16, 7.0)
    x += x / 2
    ptx.ret()


half.ptx()
