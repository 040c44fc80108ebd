# SPDX-License-Identifier: Apache-2.0
"""The vector sets. A new one is a module here and a line below."""

from __future__ import annotations

from record.launch import VectorSet

from .atomic import AtomicSet
from .attention import AttentionSet
from .calls import CallSet
from .carry import CarrySet
from .copies import CopiesSet
from .kernels import KernelsSet
from .matrix import MatrixSet
from .mbarrier import MbarrierSet
from .memory import MemorySet
from .mma import MmaSet
from .scalar import ScalarSet
from .sync import SyncSet
from .tensor import TensorSet
from .tensormap import TensormapSet
from .tiny import TinySet
from .warp import WarpSet
from .wgmma import WgmmaSet

_ALL: tuple[VectorSet, ...] = (
    ScalarSet(),
    CarrySet(),
    WarpSet(),
    AtomicSet(),
    MatrixSet(),
    MmaSet(),
    WgmmaSet(),
    TensorSet(),
    MbarrierSet(),
    MemorySet(),
    SyncSet(),
    CallSet(),
    CopiesSet(),
    TensormapSet(),
    KernelsSet(),
    AttentionSet(),
    TinySet(),
)
SETS: dict[str, VectorSet] = {one.name: one for one in _ALL}
