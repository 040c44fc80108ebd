# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem


@kernel
def load():
    full = smem.mbarrier(1)
    ptx.mbarrier.arrive_expect_tx(full[0], -128)
    ptx.ret()


load.ptx()
