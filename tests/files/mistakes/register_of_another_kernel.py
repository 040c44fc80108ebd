# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import u32

table = {}


@kernel
def first():
    table["lane"] = ptx.special.laneid()
    ptx.ret()


@kernel
def second():
    twice = reg.scalar(u32)
    ptx.inst.shl.b32(twice, table["lane"], 1)
    ptx.ret()


first.ptx()
second.ptx()
