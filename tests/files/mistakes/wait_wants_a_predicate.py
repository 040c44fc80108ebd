# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import u32


@kernel
def wait():
    full = smem.mbarrier(1)
    ready = reg.scalar(u32)
    ptx.inst.mbarrier.try_wait.parity.shared__cta.b64(ready, ptx.addr(full[0]), 0)
    ptx.ret()


wait.ptx()
