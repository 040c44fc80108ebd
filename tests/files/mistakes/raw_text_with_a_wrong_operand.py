# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32, u32


@kernel
def handwritten():
    reg.scalar(u32, init=1, name="%x")
    reg.scalar(f32, init=1.0, name="%y")
    ptx.raw("add.u32 %x, %x, 1;\nadd.u32 %x, %x, %y;")
    ptx.ret()


handwritten.ptx()
