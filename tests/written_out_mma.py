# SPDX-License-Identifier: Apache-2.0
"""mma.m16n8k16 for the emulator, which has no mma: shuffles gather a row of A and a column of B
from the lanes whose fragments hold them, as the manual's tables say, and fma multiplies them.
"""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg
from pyptx.types import b32, f32, u32


def from_lane(value: Any, lane: Any) -> tuple[Any, Any]:
    """The two bf16 that another lane's register holds, widened to f32."""
    pair, low, high = reg.scalar(b32), reg.scalar(b32), reg.scalar(b32)
    ptx.inst.shfl.sync.idx.b32(pair, value, lane, 31, 0xFFFFFFFF)
    ptx.inst.shl.b32(low, pair, 16)
    ptx.inst.and_.b32(high, pair, 0xFFFF0000)
    first, second = reg.scalar(f32), reg.scalar(f32)
    ptx.inst.mov.b32(first, low)
    ptx.inst.mov.b32(second, high)
    return first, second


def multiply_written_out(d: list[Any], a: list[Any], b: list[Any]) -> None:
    """mma.m16n8k16 by its definition. Lane l holds rows l / 4 and l / 4 + 8 and columns 2 (l % 4)
    and 2 (l % 4) + 1 of D. Row r of A is in lanes 4 r to 4 r + 3, and so is column r of B; lane
    i of the four has elements 2 i, 2 i + 1 and 2 i + 8, 2 i + 9 of the sixteen along k.
    """
    lane = reg.from_(ptx.special.laneid(), u32)
    row, column = lane & 28, (lane & 3) << 3
    for pair in range(8):
        later = pair // 4  # of the two halves of k
        rows = [from_lane(a[half + 2 * later], row + pair % 4) for half in (0, 1)]
        columns = [from_lane(b[later], column + 4 * side + pair % 4) for side in (0, 1)]
        for half in (0, 1):
            for side in (0, 1):
                into = d[2 * half + side]
                for x, y in zip(rows[half], columns[side], strict=True):
                    ptx.inst.fma.rn.f32(into, x, y, into)
