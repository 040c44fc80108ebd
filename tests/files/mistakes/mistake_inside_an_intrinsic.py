# SPDX-License-Identifier: Apache-2.0
from pyptx import intrinsic, kernel, ptx


@intrinsic
def relu(value):
    ptx.inst.max.f32(value, value, 0)


@kernel
def activate():
    lane = ptx.special.laneid()
    relu(lane)
    ptx.ret()


activate.ptx()
