# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(tma="register")
def nothing():
    ptx.ret()
