# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u64


def load_row(row, source, count):
    for i in range(count):
        ptx.inst.ld.global_.f32(row[i], ptx.addr(source, 4 * i))


@kernel(in_specs=(Tile(64, f32),), out_specs=(Tile(64, f32),))
def copy(X, Y):
    source, _ = ptx.global_ptrs(X, Y)
    row = reg.array(u64, 4)
    load_row(row, source, 4)
    ptx.ret()


copy.ptx()
