# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(raw_directives=[("maxntid", (128, 1, 1, 1))])
def nothing():
    ptx.ret()


nothing.ptx()
