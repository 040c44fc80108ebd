# SPDX-License-Identifier: Apache-2.0
"""Which tiles a CTA computes, and in which order: what runs at the same time shares L2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyptx import ptx, reg
from pyptx.kernels.gemm_config import BK, GemmConfig, tiles
from pyptx.types import u32


@dataclass(frozen=True)
class Schedule:
    """The tiles of a product: D has `rows` x `columns` elements, `batch` times."""

    config: GemmConfig
    rows: int
    columns: int
    depth: int
    batch: int = 1

    @property
    def grid_tiles(self) -> tuple[int, int]:
        """Cluster tiles along the rows and the columns of D."""
        edges = zip(self.config.tile, self.config.cluster, strict=True)
        high, wide = (tile * ctas for tile, ctas in edges)
        return tiles(self.rows, high), tiles(self.columns, wide)

    @property
    def total(self) -> int:
        """Cluster tiles in all."""
        high, wide = self.grid_tiles
        return high * wide * self.batch

    @property
    def clusters(self) -> int:
        """Clusters that are launched: no more than finish in the same number of rounds.

        Where a cluster divides K it computes one tile: its stages end as places for sums.
        """
        if self.config.split_k > 1:
            return self.total
        most = self.config.ctas // self.config.cluster_size
        return tiles(self.total, tiles(self.total, most))

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        return self.clusters * self.config.cluster_size

    @property
    def blocks(self) -> int:
        """Blocks of K in all."""
        return tiles(self.depth, BK)

    def k_range(self, part: Any) -> tuple[Any, Any, Any]:
        """Return the first block of a part of K, the one after its last, and their number."""
        parts = self.config.split_k
        if parts == 1:
            return 0, self.blocks, self.blocks
        each, more = divmod(self.blocks, parts)
        # The first `more` CTAs have one block more.
        extra = part.min(more) if more else 0
        first = part * each + extra
        if not more:
            return first, first + each, each
        number = reg.scalar(u32, each)
        ptx.add(u32, number, number, 1, pred=part < more)
        return first, first + number, number

    def walk(self, cluster: Any, turn: Any = None) -> Any:
        """Loop over the numbers of a cluster's tiles; with `turn` over every other one."""
        if turn is None:
            return ptx.range_(cluster, self.total, self.clusters)
        return ptx.range_(cluster + turn * self.clusters, self.total, 2 * self.clusters)

    def origin(self, tile: Any, place: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        """Return the first row and column of this CTA's tile, and its batch."""
        high, wide = self.grid_tiles
        batch: tuple[Any, ...] = ()
        if self.batch > 1:
            index = quotient(tile, high * wide, self.total)
            batch = (index,)
            tile = tile - index * (high * wide)
        row, column = _grouped(tile, high, wide, min(self.config.group, high))
        (m, n), (ctas_m, ctas_n) = self.config.tile, self.config.cluster
        row, column = row * (m * ctas_m), column * (n * ctas_n)
        if ctas_m > 1:
            row = row + place.row * m
        if ctas_n > 1:
            column = column + place.column * n
        return row, column, batch


def _grouped(tile: Any, high: int, wide: int, group: int) -> tuple[Any, Any]:
    """Return (row, column) of a tile: down `group` rows, then the next column."""
    if high == 1:
        return reg.scalar(u32, 0), tile
    most = high * wide
    band = quotient(tile, group * wide, most)
    within = tile - band * (group * wide)
    column = quotient(within, group, most)
    row = within - column * group
    if high % group:  # the last band is lower
        is_last = band == high // group
        lower = quotient(within, high % group, most)
        ptx.mov(u32, column, lower, pred=is_last)
        ptx.mov(u32, row, within - lower * (high % group), pred=is_last)
    return band * group + row, column


def quotient(value: Any, by: int, limit: int) -> Any:
    """Return value // by for values below `limit`: a shift, or a product's high half.

    The assembler turns no division by a constant into one of these.
    """
    if by & (by - 1) == 0:
        return value >> (by.bit_length() - 1) if by > 1 else value + 0
    shift = 0
    while True:
        factor = -(-(1 << (32 + shift)) // by)
        if (factor * by - (1 << (32 + shift))) * limit < 1 << (32 + shift):
            break
        shift += 1
    if factor >= 1 << 32:
        raise ValueError(f"too many tiles: {limit}")
    result = reg.scalar(u32)
    ptx.inst.mul.hi.u32(result, value, factor)
    return result >> shift if shift else result
