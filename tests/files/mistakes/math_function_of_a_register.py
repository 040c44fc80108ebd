# SPDX-License-Identifier: Apache-2.0
import math

from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def root():
    value = reg.scalar(f32, init=2.0)
    ptx.mov(f32, value, math.sqrt(value))
    ptx.ret()


root.ptx()
