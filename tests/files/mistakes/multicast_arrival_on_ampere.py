# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, smem


@kernel(arch="sm_80")
def release():
    empty = smem.mbarrier(4)
    ptx.cluster.arrive_multicast(empty[1], 0b11)
    ptx.ret()


release.ptx()
