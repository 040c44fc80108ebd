# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def first(X):
    (px,) = ptx.global_ptrs(X)
    px[0]
    ptx.ret()


first.ptx()
