# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def check():
    lane = ptx.special.laneid()
    ptx.assert_(lane, "a lane")
    ptx.ret()


check.ptx()
