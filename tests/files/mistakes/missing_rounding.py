# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f16, f32


@kernel
def narrow():
    wide = reg.scalar(f32, init=1.5)
    half = reg.scalar(f16)
    ptx.inst.cvt.f16.f32(half, wide)
    ptx.ret()


narrow.ptx()
