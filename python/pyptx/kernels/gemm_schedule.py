# SPDX-License-Identifier: Apache-2.0
"""Which tiles a CTA computes, and in which order: what runs at the same time shares L2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyptx import ptx, reg
from pyptx.kernels.gemm_config import BK, GemmConfig, tiles
from pyptx.kernels.gemm_division import MOST, Divisor, covered, divided
from pyptx.types import u32

#: The rows, columns and depth of D, and how many there are of it, None where no batch is.
Shape = tuple[Any, Any, Any, Any]


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


class Walk:
    """The tiles of a product as a kernel goes through them: sizes are numbers, or of the launch.

    Making it works out what divides by such a size, once for all tiles; a role makes its own where
    it has to wait anyway.
    """

    def __init__(self, config: GemmConfig, shape: Shape) -> None:
        self.config = config
        special = ptx.special.nclusterid if config.cluster_size > 1 else ptx.special.nctaid
        self.clusters = reg.from_(special.x(), u32)
        rows, columns, depth, batch = shape
        self.blocks = covered(depth, BK)
        (m, n), (ctas_m, ctas_n) = config.tile, config.cluster
        high, wide = covered(rows, m * ctas_m), covered(columns, n * ctas_n)
        self.is_one_row = isinstance(high, int) and high == 1
        area = high * wide
        self.is_batched = batch is not None
        self.total = area * batch if self.is_batched else area
        limit = self.total if isinstance(self.total, int) else MOST
        if self.is_batched:
            self.areas = Divisor(area, limit)
        self.group = min(config.group, high) if isinstance(high, int) else config.group
        self.bands = Divisor(self.group * wide, limit)
        self.full, lower = divided(high, self.group)
        self.lower: Any = None  # the height of the last band, where it may be another
        if not isinstance(lower, int):
            self.lower = Divisor(lower.max(1), limit)
        elif lower:
            self.lower = Divisor(lower, limit)

    def k_range(self, part: Any) -> tuple[Any, Any, Any]:
        """Return the first block of a part of K, the one after its last, and their number."""
        parts = self.config.split_k
        if parts == 1:
            return 0, self.blocks, self.blocks
        each, more = divided(self.blocks, parts)
        if isinstance(more, int) and not more:
            return part * each, part * each + each, each
        # The first `more` CTAs have one block more.
        first = part * each + part.min(more)
        number = reg.scalar(u32)
        ptx.mov(u32, number, each)
        ptx.add(u32, number, number, 1, pred=part < more)
        return first, first + number, number

    def walk(self, cluster: Any, turn: Any = None) -> Any:
        """Loop over the numbers of a cluster's tiles; with `turn` over every other one."""
        if turn is None:
            return ptx.range_(cluster, self.total, self.clusters)
        return ptx.range_(cluster + turn * self.clusters, self.total, self.clusters * 2)

    def origin(self, tile: Any, place: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        """Return the first row and column of this CTA's tile, and its batch."""
        batch: tuple[Any, ...] = ()
        if self.is_batched:
            index, tile = self.areas.divide(tile)
            batch = (index,)
        row, column = self._grouped(tile)
        (m, n), (ctas_m, ctas_n) = self.config.tile, self.config.cluster
        row, column = row * (m * ctas_m), column * (n * ctas_n)
        if ctas_m > 1:
            row = row + place.row * m
        if ctas_n > 1:
            column = column + place.column * n
        return row, column, batch

    def _grouped(self, tile: Any) -> tuple[Any, Any]:
        """Return (row, column) of a tile: down `group` rows, then the next column."""
        if self.is_one_row:
            return reg.scalar(u32, 0), tile
        band, within = self.bands.divide(tile)
        column, row = Divisor(self.group, self.bands.limit).divide(within)
        if self.lower is not None:
            is_last = band == self.full
            other_column, other_row = self.lower.divide(within)
            ptx.mov(u32, column, other_column, pred=is_last)
            ptx.mov(u32, row, other_row, pred=is_last)
        return band * self.group + row, column
