# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import f32

kept = []


@kernel
def k():
    kept.append(smem.alloc(f32, (4,)))
    ptx.ret()


@kernel
def other():
    kept[0][0]
    ptx.ret()


k.ptx()
other.ptx()
