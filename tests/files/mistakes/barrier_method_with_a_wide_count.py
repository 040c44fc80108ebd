# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import u64


@kernel
def signal():
    full = smem.mbarrier(2)
    count = reg.scalar(u64, init=2)
    full[1].arrive(count)
    ptx.ret()


signal.ptx()
