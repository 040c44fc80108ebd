# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem


@kernel
def setup():
    full = smem.mbarrier(2)
    ptx.mbarrier.init(full, 1)
    ptx.ret()


setup.ptx()
