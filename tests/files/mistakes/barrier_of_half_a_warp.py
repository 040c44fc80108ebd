# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def meet():
    ptx.named_barrier(1, count=48).sync()
    ptx.ret()


meet.ptx()
