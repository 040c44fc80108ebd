# SPDX-License-Identifier: Apache-2.0
"""Canonical shared-memory layouts of wgmma operands (PTX ISA, "Shared Memory Matrix Layout").

The layouts are computed by the core; this module gives them names.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from pyptx import _core


class LayoutType(enum.IntEnum):
    """The two-bit layout type of a wgmma matrix descriptor."""

    INTERLEAVE = 0
    B128 = 1
    B64 = 2
    B32 = 3


class Major(enum.IntEnum):
    """The contiguous direction of an operand."""

    K = 0
    MN = 1


@dataclass(frozen=True)
class GmmaLayout:
    """The descriptor fields of a tile, and the swizzle that TMA and shared memory need for it.

    `tma_swizzle` is `"NONE"`, `"32B"`, `"64B"` or `"128B"`; `smem_swizzle` what `smem.alloc` takes.
    """

    layout_type: LayoutType
    leading_byte_offset: int
    stride_byte_offset: int
    tma_swizzle: str
    smem_swizzle: str | None

    @property
    def swizzle_code(self) -> int:
        """What the descriptor's swizzle field holds."""
        return int(self.layout_type)


def pick_gmma_layout(*, elem_bytes: int, m_or_n: int, k: int, major: Major) -> GmmaLayout:
    """Pick the layout with the widest swizzle that the contiguous direction fills.

    Raises ValueError where wgmma cannot read such a tile.
    """
    kind, leading, stride, swizzle = _core.wgmma_layout.pick(
        elem_bytes=elem_bytes, m_or_n=m_or_n, k=k, major=int(Major(major))
    )
    return _layout(kind, leading, stride, swizzle)


def _layout(kind: int, leading: int, stride: int, swizzle: str) -> GmmaLayout:
    """Name what the core has computed."""
    smem_swizzle = None if swizzle == "none" else swizzle
    return GmmaLayout(LayoutType(kind), leading, stride, swizzle.upper(), smem_swizzle)


def layout_for_a(*, dtype: Any, m: int, k: int) -> GmmaLayout:
    """Pick the layout of an (m, k) tile of A with k contiguous."""
    return pick_gmma_layout(elem_bytes=dtype.bits // 8, m_or_n=m, k=k, major=Major.K)


def layout_for_b(*, dtype: Any, k: int, n: int) -> GmmaLayout:
    """Pick the layout of a (k, n) tile of B with n contiguous (16-bit types only)."""
    return pick_gmma_layout(elem_bytes=dtype.bits // 8, m_or_n=n, k=k, major=Major.MN)
