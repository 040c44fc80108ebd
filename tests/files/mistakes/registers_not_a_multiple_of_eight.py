# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def producer():
    ptx.setmaxnreg(100, inc=False)
    ptx.ret()


producer.ptx()
