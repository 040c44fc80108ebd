# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def count():
    lane = ptx.special.laneid()
    ptx.inst.mov.u32(lane, int(lane) + 1)
    ptx.ret()


count.ptx()
