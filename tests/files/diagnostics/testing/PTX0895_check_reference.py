# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, reg, testing
from pyptx.types import f32, u32


@kernel(
    in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: (N, 1, 1), arch="sm_80"
)
def scale(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    offset = reg.from_(ptx.special.ctaid.x(), u32) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
    ptx.inst.mul.f32(value, value, 2.0)
    ptx.inst.st.global_.f32(ptx.addr(py + offset), value)
    ptx.ret()


testing.check(scale, lambda x: x.sum(), shapes={"N": 8}, frameworks="numpy")
