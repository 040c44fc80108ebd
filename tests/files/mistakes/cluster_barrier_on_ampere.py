# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_80")
def meet():
    ptx.cluster.sync()
    ptx.ret()


meet.ptx()
