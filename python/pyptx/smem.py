# SPDX-License-Identifier: Apache-2.0
"""Shared memory inside a kernel: allocations, stages, elements and mbarriers.

``alloc(T, shape)`` gives a :class:`SharedAlloc`; ``a[stage]`` is that stage of it, ``a[row, col]``
loads an element and ``a[row, col] = value`` stores one, with the swizzle applied. Past 48 KiB (or
with ``smem=``) everything moves into one dynamic array.
"""

from __future__ import annotations

from pyptx import _core

alloc = _core.smem.alloc
alloc_with_layout = _core.smem.alloc_with_layout
wgmma_tile = _core.smem.wgmma_tile
mbarrier = _core.smem.mbarrier
base = _core.smem.base
load = _core.smem.load
store = _core.smem.store
apply_swizzle = _core.smem.apply_swizzle
SharedAlloc = _core.smem.SharedAlloc
SharedSlice = _core.smem.SharedSlice
MbarrierArray = _core.smem.MbarrierArray
MbarrierRef = _core.smem.MbarrierRef

__all__ = [
    "MbarrierArray",
    "MbarrierRef",
    "SharedAlloc",
    "SharedSlice",
    "alloc",
    "alloc_with_layout",
    "apply_swizzle",
    "base",
    "load",
    "mbarrier",
    "store",
    "wgmma_tile",
]
