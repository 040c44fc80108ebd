# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def search():
    lane = ptx.special.laneid()
    for i in ptx.range_(0, 8):
        ptx.inst.add.u32(lane, lane, i)
        break
    ptx.ret()


search.ptx()
