# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(block=(32, -1))
def nothing():
    ptx.ret()
