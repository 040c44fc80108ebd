# SPDX-License-Identifier: Apache-2.0
"""What is done to memory of the device while kernels are tried: written over, and compared.

Both work on vectors of 16 bytes, four for each thread; the grid is given with each launch.
"""

from __future__ import annotations

from typing import Any

from pyptx import ptx, reg
from pyptx.kernel import Kernel
from pyptx.specs import Tile
from pyptx.types import u32, u64

VECTOR = 16
_THREADS, _STEPS = 256, 4
_BLOCK = (_THREADS, 1, 1)
_RAW = (("u32", "word"), ("u64", "vectors"))


def grid_over(size: int) -> tuple[int, int, int]:
    """Return the grid for so many bytes."""
    return -(-size // (_THREADS * _STEPS * VECTOR)), 1, 1


def _places(vectors: Any, *bases: Any) -> Any:
    """Yield, for each of this thread's vectors, whether there is one and where it is."""
    first = reg.scalar(u64)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    ptx.inst.mul.wide.u32(first, cta, _THREADS * _STEPS)
    first = first + reg.from_(ptx.special.tid.x(), u64)
    for step in range(_STEPS):
        index = first + step * _THREADS
        yield index < vectors, [ptx.addr(base + (index << 4)) for base in bases]


def _fill(buffer: Any) -> None:
    """Write a word all over the buffer."""
    (base,) = ptx.global_ptrs(buffer)
    word = ptx.param(u32, "word")
    for inside, (place,) in _places(ptx.param(u64, "vectors"), base):
        ptx.inst.st.global_.v4.u32(place, [word] * 4, pred=inside)
    ptx.ret()


def _differ(left: Any, right: Any, found: Any) -> None:
    """Set `found` to the word where the buffers differ."""
    *bases, flag = ptx.global_ptrs(left, right, found)
    difference = reg.scalar(u32, 0)
    for inside, places in _places(ptx.param(u64, "vectors"), *bases):
        words = [[reg.scalar(u32, 0) for _ in range(4)] for _ in places]
        for vector, place in zip(words, places, strict=True):
            ptx.inst.ld.global_.v4.u32(vector, place, pred=inside)
        for a, b in zip(*words, strict=True):
            ptx.inst.xor.b32(a, a, b)
            ptx.inst.or_.b32(difference, difference, a)
    word = ptx.param(u32, "word")
    ptx.inst.red.global_.or_.b32(ptx.addr(flag), word, pred=difference != 0)
    ptx.ret()


_buffer = Tile("N", u32)
fill = Kernel(
    _fill, arch="auto", in_specs=(_buffer,), grid=(1, 1, 1), block=_BLOCK, raw_params=_RAW
)
differ = Kernel(
    _differ,
    arch="auto",
    in_specs=(_buffer, _buffer, Tile(4, u32)),
    grid=(1, 1, 1),
    block=_BLOCK,
    raw_params=_RAW,
)
