# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx
from pyptx.types import u64


@kernel(raw_params=[("u32", "rows")], grid=(1, 1, 1))
def k():
    ptx.param(u64, "rows")
    ptx.ret()


k.ptx()
