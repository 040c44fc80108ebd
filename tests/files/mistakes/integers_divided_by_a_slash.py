# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def half():
    lane = ptx.special.laneid()
    lane += lane / 2
    ptx.ret()


half.ptx()
