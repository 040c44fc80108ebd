# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f16


@kernel
def k():
    half = reg.scalar(f16)
    half << 1
    ptx.ret()


k.ptx()
