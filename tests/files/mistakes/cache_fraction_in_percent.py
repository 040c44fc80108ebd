# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import b64


@kernel(arch="sm_90a")
def keep():
    policy = reg.scalar(b64)
    ptx.inst.createpolicy.fractional.L2__evict_last.b64(policy, 50.0)
    ptx.ret()


keep.ptx()
