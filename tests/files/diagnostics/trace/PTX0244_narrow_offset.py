# SPDX-License-Identifier: Apache-2.0
import warnings

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32

warnings.simplefilter("error")


@kernel(in_specs=(Tile("N", f32),))
def load(X):
    (px,) = ptx.global_ptrs(X)
    i = ptx.special.tid.x()
    ptx.ld(f32, reg.scalar(f32), px + i * 4)
    ptx.ret()


load.ptx(N=1 << 31)
