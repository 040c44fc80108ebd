# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import pred


@kernel
def k():
    positive = reg.scalar(pred)
    outer, inner = ptx.if_(positive), ptx.loop("AGAIN")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    ptx.ret()


k.ptx()
