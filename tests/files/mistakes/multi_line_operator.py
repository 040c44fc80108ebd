# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def average():
    total = reg.scalar(f32, init=1.0)
    (
        total
        + ptx.special.laneid()
    )  # fmt: skip
    ptx.ret()


average.ptx()
