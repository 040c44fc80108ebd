# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, verify
from pyptx.types import u32


@kernel
def handwritten():
    ptx.raw("mov.u32 %later, 1;")
    later = reg.scalar(u32, init=0, name="%later")
    later += 1
    ptx.ret()


print(*verify(handwritten), end="")
