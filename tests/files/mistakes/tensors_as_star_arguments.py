# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def concat(*tensors):
    ptx.ret()


concat.ptx()
