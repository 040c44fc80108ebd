# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx, reg
from pyptx.types import f32


@kernel
def store(Y):
    (target,) = ptx.global_ptrs(Y)
    lane = ptx.special.laneid()
    value = reg.scalar(f32, init=1.0)
    ptx.inst.st.global_.f32(ptx.addr(target), value, pred=lane)
    ptx.ret()


store.ptx()
