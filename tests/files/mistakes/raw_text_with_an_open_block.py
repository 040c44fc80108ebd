# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def handwritten():
    ptx.raw("""
        {
            .reg .u32 %t;
            mov.u32 %t, %tid.x;
    """)
    ptx.ret()


handwritten.ptx()
