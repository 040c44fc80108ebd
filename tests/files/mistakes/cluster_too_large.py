# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(cluster=(8, 4, 1))
def nothing():
    ptx.ret()


nothing.ptx()
