# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx
from pyptx.types import f32


@kernel
def table():
    ptx.var("constant", f32, "lut", size=16)
    ptx.ret()


table.ptx()
