# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_80", raw_directives=[("explicitcluster", ())])
def nothing():
    ptx.ret()


nothing.ptx()
