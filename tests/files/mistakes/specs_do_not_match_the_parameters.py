# SPDX-License-Identifier: Apache-2.0
from pyptx import Tile, kernel, ptx
from pyptx.types import bf16, f32


@kernel(in_specs=(Tile("M", "K", bf16), Tile("K", "N", bf16)), out_specs=(Tile("M", "N", f32),))
def gemm(A, B):
    ptx.ret()


gemm.ptx(M=64, N=64, K=64)
