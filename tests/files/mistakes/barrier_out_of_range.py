# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem


@kernel
def pipeline():
    full = smem.mbarrier(4, name="full")
    for stage in range(5):
        ptx.mbarrier.init(full[stage], 1)
    ptx.ret()


pipeline.ptx()
