# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_90a", version=(8, 0))
def publish():
    ptx.inst.fence.proxy.tensormap__generic.release.gpu()
    ptx.ret()


publish.ptx()
