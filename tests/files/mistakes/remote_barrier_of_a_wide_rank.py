# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg, smem
from pyptx.types import u64


@kernel(cluster=(2, 1, 1))
def meet():
    done = smem.mbarrier(1)
    peer = reg.scalar(u64, init=1)
    ptx.cluster.arrive_remote(done[0], peer)
    ptx.ret()


meet.ptx()
