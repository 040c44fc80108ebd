# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_95")
def nothing():
    ptx.ret()


nothing.ptx()
