# SPDX-License-Identifier: Apache-2.0
"""A kernel that writes over a buffer, so that nothing else is left in L2."""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg
from pyptx.kernel import Kernel
from pyptx.specs import Tile
from pyptx.types import u32, u64

_THREADS, _STORES = 256, 4
#: What a CTA writes: each thread four vectors of 16 bytes.
BYTES_OF_CTA = _THREADS * _STORES * 16


def _flush(buffer: Any) -> None:
    (base,) = ptx.global_ptrs(buffer)
    start = reg.scalar(u64)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    ptx.inst.mul.wide.u32(start, cta, BYTES_OF_CTA)
    place = base + start + (reg.from_(ptx.special.tid.x(), u64) << 4)
    value = reg.scalar(u32, 0)
    for store in range(_STORES):
        ptx.inst.st.global_.v4.u32(
            ptx.addr(place, store * _THREADS * 16), [value, value, value, value]
        )
    ptx.ret()


#: The grid is given with each launch: as many CTAs as the buffer has parts.
flush = Kernel(
    _flush, arch="auto", in_specs=(Tile("N", u32),), grid=(1, 1, 1), block=(_THREADS, 1, 1)
)
