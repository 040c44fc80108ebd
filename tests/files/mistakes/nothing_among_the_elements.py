# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32, u64


@kernel
def store():
    target = reg.scalar(u64, init=4096)
    value = reg.scalar(f32, init=1.0)
    ptx.inst.st.global_.v2.f32(ptx.addr(target), [value, None])
    ptx.ret()


store.ptx()
