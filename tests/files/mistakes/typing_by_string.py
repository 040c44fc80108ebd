# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg


@kernel
def count():
    reg.scalar("uint32", init=0)
    ptx.ret()


count.ptx()
