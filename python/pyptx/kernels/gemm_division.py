# SPDX-License-Identifier: Apache-2.0
"""Whole divisions by what a kernel divides by many times: a constant, or a size of the launch."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg
from pyptx.kernels.gemm_config import tiles
from pyptx.types import u32

WORD = 1 << 32
MOST = 1 << 31  # what numbers of tiles, and of blocks of K, are below


class Divisor:
    """Divides numbers below `limit`; made where everybody comes by who divides.

    For a register one division gives a factor, rounded down, whose product's high half is the
    quotient or one less. So a long instruction sequence is executed once, and not for each tile.
    """

    def __init__(self, by: Any, limit: Any = WORD) -> None:
        self.by, self.limit = by, limit
        if not isinstance(by, int):
            self.factor = reg.scalar(u32)
            ptx.inst.div.u32(self.factor, WORD - 1, by)

    def divide(self, value: Any) -> tuple[Any, Any]:
        """Return value // by and value % by."""
        if isinstance(self.by, int):
            whole = quotient(value, self.by, self.limit)
            return whole, value - whole * self.by
        whole, rest = reg.scalar(u32), reg.scalar(u32)
        ptx.inst.mul.hi.u32(whole, value, self.factor)
        ptx.inst.mul.lo.u32(rest, whole, self.by)
        ptx.inst.sub.u32(rest, value, rest)
        is_one_less = rest >= self.by
        ptx.inst.add.u32(whole, whole, 1, pred=is_one_less)
        ptx.inst.sub.u32(rest, rest, self.by, pred=is_one_less)
        return whole, rest


def divided(value: Any, by: int) -> tuple[Any, Any]:
    """Return value // by and value % by of a size, of the call or of the launch."""
    return divmod(value, by) if isinstance(value, int) else Divisor(by, MOST).divide(value)


def covered(size: Any, edge: int) -> Any:
    """Return how many tiles of `edge` cover a size of 1 or more, of the call or of the launch."""
    if isinstance(size, int):
        return tiles(size, edge)
    return quotient(size - 1, edge, WORD) + 1


def quotient(value: Any, by: int, limit: int) -> Any:
    """Return value // by for values below `limit`: a shift, or a product's high half.

    The assembler turns no division by a constant into one of these.
    """
    twos = (by & -by).bit_length() - 1
    if twos:
        value, by, limit = value >> twos, by >> twos, -(-limit >> twos)
    if by == 1:
        return value if twos else value + 0
    shift = 0
    while True:
        factor = -(-(WORD << shift) // by)
        if (factor * by - (WORD << shift)) * limit < WORD << shift:
            break
        shift += 1
    if factor >= WORD:
        raise ValueError(f"too many tiles: {limit}")
    result = reg.scalar(u32)
    ptx.inst.mul.hi.u32(result, value, factor)
    return result >> shift if shift else result
