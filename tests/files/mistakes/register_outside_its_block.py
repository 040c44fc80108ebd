# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, verify
from pyptx.types import u32


@kernel
def handwritten():
    ptx.raw("{ .reg .u32 %inner; mov.u32 %inner, 1; }")
    outer = reg.scalar(u32)
    ptx.inst.mov.u32(outer, reg.Reg("%inner", u32))
    ptx.ret()


print(*verify(handwritten), end="")
