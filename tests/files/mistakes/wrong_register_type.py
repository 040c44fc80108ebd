# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def scale(X, Y):
    source, target = ptx.global_ptrs(X, Y)
    value = reg.scalar(f32)
    count = reg.scalar(u32, init=4)
    ptx.inst.ld.global_.f32(value, ptx.addr(source))
    ptx.inst.mul.f32(value, value, count)
    ptx.inst.st.global_.f32(ptx.addr(target), value)
    ptx.ret()


scale.ptx(N=1024)
