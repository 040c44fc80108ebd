# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def count():
    with ptx.while_(10):
        pass
    ptx.ret()


count.ptx()
