# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, verify
from pyptx.types import u32


@kernel
def handwritten():
    reg.scalar(u32, init=1, name="%x")
    ptx.raw("add.u32 %x, %x, %y;")
    ptx.ret()


print(*verify(handwritten), end="")
