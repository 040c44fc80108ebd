# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem


@kernel
def setup():
    full = smem.mbarrier(1)
    ptx.mbarrier.init(full[0], 0)
    ptx.ret()


setup.ptx()
