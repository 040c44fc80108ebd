# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_100a", version=(8, 0))
def nothing():
    ptx.ret()


nothing.ptx()
