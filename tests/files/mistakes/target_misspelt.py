# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm90a")
def nothing():
    ptx.ret()


nothing.ptx()
