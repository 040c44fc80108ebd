# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def mean():
    total = reg.scalar(f32, init=10.0)
    ptx.inst.div.f32(total, total, 4.0)
    ptx.ret()


mean.ptx()
