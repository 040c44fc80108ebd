# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def meet():
    ptx.bar.sync(16)
    ptx.ret()


meet.ptx()
