# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u16


@kernel
def clear():
    reg.scalar(u16, init=-70000)
    ptx.ret()


clear.ptx()
