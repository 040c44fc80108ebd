# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import u64


@kernel
def wait():
    full = smem.mbarrier(1)
    phase = reg.scalar(u64, init=0)
    ptx.mbarrier.wait(full[0], phase)
    ptx.ret()


wait.ptx()
