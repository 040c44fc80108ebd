# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx
from pyptx.types import u32


@kernel(raw_params=[("int", "rows")])
def count():
    ptx.param(u32, "rows")
    ptx.ret()


count.ptx()
