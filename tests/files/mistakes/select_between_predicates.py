# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import pred


@kernel
def choose():
    p, q = reg.scalar(pred), reg.scalar(pred)
    ptx.select(p, p, q)
    ptx.ret()


choose.ptx()
