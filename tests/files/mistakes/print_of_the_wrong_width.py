# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u64


@kernel
def show():
    value = reg.scalar(u64, init=1)
    ptx.printf("value %d\n", value)
    ptx.ret()


show.ptx()
