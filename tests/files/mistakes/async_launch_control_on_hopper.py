# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem
from pyptx.types import b128


@kernel(arch="sm_90a")
def persistent():
    response = smem.alloc(b128, (1,))
    ready = smem.mbarrier(1)
    ptx.inst.clusterlaunchcontrol.try_cancel.async_.shared__cta.mbarrier__complete_tx__bytes.b128(
        ptx.addr(response), ptx.addr(ready[0])
    )
    ptx.ret()


persistent.ptx()
