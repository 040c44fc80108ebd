# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def add():
    value = reg.scalar(f32, init=2.0)
    value * [1.0, 2.0]
    ptx.ret()


add.ptx()
