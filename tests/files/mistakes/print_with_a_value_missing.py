# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def show():
    lane = ptx.special.laneid()
    ptx.printf("lane %u of block %u\n", lane)
    ptx.ret()


show.ptx()
