# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, verify


@kernel(raw_directives=[("maxreg", (128,))])
def nothing():
    ptx.ret()


print(*verify(nothing), end="")
