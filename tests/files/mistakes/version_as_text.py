# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(version="8.7")
def nothing():
    ptx.ret()


nothing.ptx()
