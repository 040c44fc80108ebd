# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel
def k():
    reg.scalar(u32, name="%r7")
    ptx.ret()


k.ptx()
