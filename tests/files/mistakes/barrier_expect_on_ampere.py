# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem


@kernel(arch="sm_80")
def load():
    full = smem.mbarrier(1)
    ptx.mbarrier.arrive_expect_tx(full[0], 4096)
    ptx.ret()


load.ptx()
