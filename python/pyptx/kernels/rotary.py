# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding: pairs of elements of each head, turned by the angle of their position.

A pair is element i of the first half of a head and of the second, or with `interleaved` elements
2i and 2i + 1. The gradient is the same kernel with the angle's sign changed. A thread turns the
same elements of several heads, so that cosines and sines are loaded once for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx import Tile, kernel, ptx, reg
from pyptx.kernels.elements import Words, element_type, vector_of
from pyptx.types import f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

THREADS = 128
HEADS = 4  # that a thread turns


def _turn(a: Any, b: Any, cosine: Any, sine: Any, inverse: bool) -> tuple[Any, Any]:
    """Return a * cos - b * sin and b * cos + a * sin; the signs of sin changed for the inverse."""
    left, right = reg.scalar(f32), reg.scalar(f32)
    plus, minus = (left, right) if inverse else (right, left)
    first, second = (a, b)
    ptx.inst.mul.f32(left, a, cosine)
    ptx.inst.mul.f32(right, b, cosine)
    ptx.inst.fma.rn.f32(plus, second if inverse else first, sine, plus)
    negated = ptx.inst.neg.f32(reg.scalar(f32), first if inverse else second)
    ptx.inst.fma.rn.f32(minus, negated, sine, minus)
    return left, right


def build_rotary(
    heads: int,
    size: int,
    dtype: Any,
    *,
    interleaved: bool = False,
    inverse: bool = False,
    angles: Any = f32,
    arch: str = "auto",
) -> Kernel:
    """Build (x, cos, sin) -> y for x of (B, S, heads, size), cos and sin of (S, size / 2)."""
    dtype, angles = element_type(dtype), element_type(angles)
    if size % 2:
        raise ValueError(f"the size of a head is even, not {size}")
    half = size // 2
    # A thread has one vector of a head where the two of a pair are neighbours, else two of them.
    width = vector_of(size if interleaved else half, dtype)
    pairs = width // 2 if interleaved else width
    lanes = half // pairs
    each = next(count for count in (HEADS, 2, 1) if heads % count == 0)
    units = heads // each * lanes  # threads for a position
    turned = Tile("B", "S", heads, size, dtype)

    @kernel(  # type: ignore[untyped-decorator]
        in_specs=(turned, Tile("S", half, angles), Tile("S", half, angles)),
        out_specs=(turned,),
        grid=lambda B, S: (-(-B * S * units // THREADS), 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
        dynamic=("B", "S"),
    )
    def rotary(X: Any, Cos: Any, Sin: Any, Y: Any) -> None:
        batch, positions = X.shape[:2]
        px, pc, ps, py = ptx.global_ptrs(X, Cos, Sin, Y)
        unit = reg.from_(ptx.special.ctaid.x(), u32) * THREADS + ptx.special.tid.x()
        ptx.ret(pred=unit >= batch * positions * units)
        token, rest, head, lane, position = (reg.scalar(u32) for _ in range(5))
        ptx.inst.div.u32(token, unit, units)
        ptx.inst.rem.u32(rest, unit, units)
        ptx.inst.div.u32(head, rest, lanes)
        ptx.inst.rem.u32(lane, rest, lanes)

        place, inside = reg.scalar(u64), reg.scalar(u64)
        ptx.inst.mul.wide.u32(place, token, heads * size * dtype.bits // 8)
        ptx.inst.mul.wide.u32(inside, head * size + lane * width, dtype.bits // 8)
        ptx.inst.add.u64(place, place, inside)
        between = heads // each * size * dtype.bits // 8  # a thread's heads
        apart = [0] if interleaved else [0, half * dtype.bits // 8]
        shifts = [[number * between + offset for offset in apart] for number in range(each)]
        loaded = [[Words(dtype, width) for _ in apart] for _ in range(each)]
        for offsets, vectors in zip(shifts, loaded, strict=True):
            for offset, words in zip(offsets, vectors, strict=True):
                words.load(px + place, offset)

        # While these are under way: a division by a size of the launch takes long.
        ptx.inst.rem.u32(position, token, positions)
        angle = reg.scalar(u64)
        ptx.inst.mul.wide.u32(angle, position * half + lane * pairs, angles.bits // 8)
        cosines, sines = Words(angles, pairs), Words(angles, pairs)
        cosines.load(pc + angle)
        sines.load(ps + angle)
        angles_of = list(zip(cosines.floats(), sines.floats(), strict=True))
        for offsets, vectors in zip(shifts, loaded, strict=True):
            values = [value for words in vectors for value in words.floats()]
            first, second = (
                (values[0::2], values[1::2]) if interleaved else (values[:pairs], values[pairs:])
            )
            turned_pairs = [
                _turn(a, b, cosine, sine, inverse)
                for a, b, (cosine, sine) in zip(first, second, angles_of, strict=True)
            ]
            if interleaved:
                results = [value for both in turned_pairs for value in both]
            else:
                results = [both[0] for both in turned_pairs] + [both[1] for both in turned_pairs]
            for number, offset in enumerate(offsets):
                words = Words(dtype, width)
                words.set(results[number * width : (number + 1) * width])
                words.store(py + place, offset)
        ptx.ret()

    return rotary
