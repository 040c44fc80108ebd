# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx
from pyptx.types import u64


@kernel
def k():
    ptx.param(u64, "weights")
    ptx.ret()


k.ptx()
