# SPDX-License-Identifier: Apache-2.0
"""The GEMM that the reference pages declare, with a body of ours."""

from __future__ import annotations

from typing import Any

from pyptx import Layout, Tile, kernel, ptx, reg
from pyptx.types import b32, bf16, f32, u32, u64


def multiply(d: list[Any], a: list[Any], b: list[Any]) -> None:
    ptx.mma.sync(
        shape=(16, 8, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, dtype_c=f32, d=d, a=a, b=b, c=d
    )  # fmt: skip


def gemm_body(A: Any, B: Any, C: Any, BM: int, BN: int, BK: int) -> None:
    """C = A @ B by four warps, 32 rows each, 32 columns at once, fragments straight from memory:
    a thread's two neighbours along k are 32 bits of A's row and of B's column.
    """
    (_, k), (_, n) = A.shape, B.shape
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    tid = reg.from_(ptx.special.tid.x(), u32)
    lane = tid & 31
    row = reg.from_(ptx.special.ctaid.x(), u32) * BM + (tid >> 5) * (BM // 4) + (lane >> 2)
    from_a = pa + row * (k * 2) + (lane & 3) * 4
    column0 = reg.from_(ptx.special.ctaid.y(), u32) * BN

    def load(place: Any, *offsets: int) -> list[Any]:
        values = [reg.scalar(b32) for _ in offsets]
        for value, offset in zip(values, offsets, strict=True):
            ptx.inst.ld.global_.b32(value, ptx.addr(place, offset))
        return values

    with ptx.range_(0, BN, 32) as shift:
        from_b = pb + (column0 + shift + (lane >> 2)) * (k * 2) + (lane & 3) * 4
        acc = [[[reg.scalar(f32, 0.0) for _ in range(4)] for _ in range(4)] for _ in range(2)]
        with ptx.range_(0, k, BK) as depth:
            at_a, at_b = from_a + depth * 2, from_b + depth * 2
            down = 8 * k * 2  # eight rows of A, or eight columns of B
            for step in range(0, 2 * BK, 32):
                columns = [load(at_b, j * down + step, j * down + step + 16) for j in range(4)]
                for i in range(2):
                    first, below = 2 * i * down + step, (2 * i + 1) * down + step
                    rows = load(at_a, first, below, first + 16, below + 16)
                    for j in range(4):
                        multiply(acc[i][j], rows, columns[j])
        for i in range(4):
            start = reg.scalar(u64)
            ptx.inst.mul.wide.u32(start, row + 8 * i, n * 4)
            line = pc + start + (column0 + shift + (lane & 3) * 2) * 4
            for j in range(4):
                pair = acc[i // 2][j][2 * (i % 2) : 2 * (i % 2) + 2]
                ptx.inst.st.global_.v2.f32(ptx.addr(line, 32 * j), pair)
    ptx.ret()


def build_seed_gemm(target: str) -> Any:
    @kernel(
        in_specs=(Tile("M", "K", bf16, Layout.ROW), Tile("K", "N", bf16, Layout.COL)),
        out_specs=(Tile("M", "N", f32, Layout.ROW),),
        grid=lambda M, N, K: (M // 128, N // 256),
        block=(128, 1, 1),
        cluster=(2, 1, 1),
        arch=target,
    )
    def gemm(A, B, C, *, BM=128, BN=256, BK=64):
        gemm_body(A, B, C, BM, BN, BK)

    return gemm
