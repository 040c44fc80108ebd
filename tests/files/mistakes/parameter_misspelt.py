# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx
from pyptx.types import u32


@kernel(raw_params=[("u32", "rows")])
def count():
    ptx.param(u32, "row")
    ptx.ret()


count.ptx()
