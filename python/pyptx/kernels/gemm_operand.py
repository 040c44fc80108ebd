# SPDX-License-Identifier: Apache-2.0
"""The operands of a tile in shared memory: how they get there, and how wgmma finds them.

A tile of the product is D = X @ Y^T: X has the rows of a tile, Y its columns. They are A and B, or
B and A where the configuration swaps them. In a cluster every CTA copies its share of what a row
(X) or a column (Y) of CTAs needs into all of them.
"""

from __future__ import annotations

import math
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.kernels.gemm_config import BK, SPAN, GemmConfig
from pyptx.types import u32, u64


class Place:
    """Where a CTA stands in its cluster, and whom its copies reach.

    A cluster has `rows` x `columns` CTAs, and that `split_k` times. Ranks go down the rows first,
    then the columns, then the parts of K.
    """

    def __init__(self, config: GemmConfig, rank: Any) -> None:
        self.rows, self.columns = config.cluster
        self.size = self.rows * self.columns
        self.row: Any = 0
        self.column: Any = 0
        self.slice: Any = 0
        self.first: Any = 0  # the rank of the first CTA that has the same part of K
        if config.split_k > 1:
            self.slice = rank >> _log2(self.size)
            self.first = self.slice << _log2(self.size)
            rank = rank & (self.size - 1)
        self.rank = rank
        if self.rows > 1:
            self.row = rank & (self.rows - 1)
        if self.columns > 1:
            self.column = rank >> _log2(self.rows)

    @property
    def peers(self) -> int:
        """CTAs whose copies land here; this one is among them."""
        return self.rows + self.columns - 1

    def share_x(self) -> dict[str, Any]:
        """Which part of X this CTA copies, and to whom: the CTAs of its row."""
        if self.columns == 1:
            return {}
        mask = sum(1 << (self.rows * c) for c in range(self.columns))
        mask = _shifted(mask, self.first + self.row)
        return {"share": self.column, "shares": self.columns, "mask": mask}

    def share_y(self) -> dict[str, Any]:
        """Which part of Y this CTA copies, and to whom: the CTAs of its column."""
        if self.rows == 1:
            return {}
        mask = _shifted((1 << self.rows) - 1, self.first + self.column * self.rows)
        return {"share": self.row, "shares": self.rows, "mask": mask}

    def peer(self, lane: Any) -> Any:
        """Return the rank that a lane below `peers` stands for."""
        if self.columns == 1 or self.rows == 1:
            return lane + self.first
        # Lanes below `rows` stand for this column, the others for this row without this CTA.
        other = lane - self.rows
        ptx.add(u32, other, other, 1, pred=other >= self.column)
        beside = other * self.rows + self.row
        rank = lane + self.column * self.rows
        ptx.mov(u32, rank, beside, pred=lane >= self.rows)
        return rank + self.first

    def partner(self, part: int) -> Any:
        """Return the rank of the CTA that has another part of K of the same tile."""
        return self.rank + part * self.size


def _log2(value: int) -> int:
    return value.bit_length() - 1


def _shifted(mask: int, by: Any) -> Any:
    """Return a mask of CTAs moved on by a register or 0."""
    if isinstance(by, int):
        return mask << by
    moved = reg.scalar(u32, mask)
    ptx.inst.shl.b32(moved, moved, by)
    return moved


class Operand:
    """X or Y in shared memory: rows of a tile for every stage, K-major or MN-major.

    `edges` multiply to the rows; the last is how many one instruction takes.
    """

    def __init__(
        self, name: str, dtype: Any, edges: tuple[int, ...], stages: int, k_major: bool
    ) -> None:
        self.edge, self.k_major = math.prod(edges), k_major
        inner = (edges[-1], BK) if k_major else (BK, edges[-1])
        shape = (stages, *edges[:-1], *inner)
        self.tile = smem.wgmma_tile(dtype, shape, major="K" if k_major else "MN", name=name)

    def descriptors(self, first: tuple[Any, ...]) -> Descriptors:
        """Return the matrix descriptors of this operand's tiles, from `first` of stage 0 on."""
        return Descriptors(self, first)

    def load(
        self,
        source: Any,
        stage: Any,
        at: tuple[Any, Any],
        batch: tuple[Any, ...],
        mbar: Any,
        *,
        share: Any = 0,
        shares: int = 1,
        mask: Any = None,
    ) -> None:
        """Start the copy of this CTA's share of a stage; `at` is (k, first row of the tile)."""
        k, row = at
        part = self.edge // shares
        base = self.tile[stage].address()
        if shares > 1:
            base, row = base + share * (part * BK * 2), row + share * part
        bulk = ptx.cp.async_.bulk
        copy = bulk.tensor_3d if batch else bulk.tensor_2d
        if self.k_major:
            copy(
                dst=ptx.addr(base),
                src=source,
                coord=(k, row, *batch),
                mbar=mbar,
                multicast_mask=mask,
            )
            return
        for first in range(0, part, 64):  # 64 rows of the tile after the other, K downwards
            copy(
                dst=ptx.addr(base, first * BK * 2),
                src=source,
                coord=(row + first, k, *batch),
                mbar=mbar,
                multicast_mask=mask,
            )


class Descriptors:
    """Matrix descriptors of an operand: an addition gives that of a stage, a constant its place.

    Of the 64 bits only the address, in units of 16 bytes, changes; it stays in the low half.
    """

    def __init__(self, operand: Operand, first: tuple[Any, ...]) -> None:
        tile = operand.tile
        inner = tile.shape[-2:]
        whole = ptx.wgmma.auto_descriptor(
            ptx.addr(tile[(0, *first)].address() if first else tile[0].address()),
            dtype=tile.dtype,
            shape=inner,
            major="K" if operand.k_major else "MN",
        )
        self.low, self.high = reg.scalar(u32), reg.scalar(u32)
        ptx.inst.mov.b64([self.low, self.high], whole)
        self.stage = operand.edge * BK * 2 >> 4
        self.part = inner[0] * inner[1] * 2 >> 4
        self.step = (32 if operand.k_major else 16 * SPAN) >> 4  # 16 elements of K

    def at(self, stage: Any) -> Any:
        """Return the low half for a stage."""
        return stage * self.stage + self.low

    def whole(self, low: Any, part: int, k: int) -> Any:
        """Return the descriptor of a part of the tile, `k` elements of K on."""
        offset = part * self.part + k // 16 * self.step
        descriptor = reg.scalar(u64)
        ptx.inst.mov.b64(descriptor, [low + offset if offset else low, self.high])
        return descriptor
