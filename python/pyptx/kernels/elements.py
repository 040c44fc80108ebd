# SPDX-License-Identifier: Apache-2.0
"""Elements of f32, bf16, f16 and fp8 on their way between memory and f32 registers.

Memory is read and written in vectors of up to 16 bytes, whose words are kept as they came: two
elements of 16 bits take one register until they are computed with. All arithmetic is in f32.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from pyptx import ptx, reg
from pyptx.types import b16, b32, bf16, f16, f32, from_name

WIDEST = 16  # bytes of the widest load and store
FLOATS = (f32, bf16, f16)
LOG2_E = math.log2(math.e)


def element_type(name: Any) -> Any:
    """Return the type of a row's elements: f32, bf16 or f16, given itself or its name."""
    dtype = from_name(name) if isinstance(name, str) else name
    if dtype not in FLOATS:
        names = ", ".join(each.name for each in FLOATS)
        raise TypeError(f"the elements of a row are one of {names}, not {dtype}")
    return dtype


def vector_of(columns: int, dtype: Any) -> int:
    """Return the elements of the widest vector that divides every row of so many columns."""
    vector: int = WIDEST * 8 // dtype.bits
    while columns % vector:
        vector //= 2
    return vector


class Words:
    """`count` elements as they lie in memory, in 32-bit registers (16-bit ones for one bf16)."""

    def __init__(self, dtype: Any, count: int, fill: float | None = None) -> None:
        self.dtype = dtype
        self.count = count
        self.bytes = count * dtype.bits // 8
        is_half_word = self.bytes < 4 or self.bytes % 4 != 0
        self.word = f32 if dtype is f32 else b16 if is_half_word else b32
        self.fill = fill
        self._source: tuple[Any, int, Any] | None = None  # in shared memory
        self.regs = list(reg.array(self.word, self.bytes * 8 // self.word.bits).regs())
        if fill is not None:
            bits = _bits(dtype, fill)
            for each in self.regs:
                move = ptx.inst.mov.b16 if self.word is b16 else ptx.inst.mov.b32
                move(each, bits if self.word is not b32 else bits | bits << 16)

    def _pieces(self) -> Iterable[tuple[int, list[Any]]]:
        """Return the parts that one load or store moves: the offset in bytes, the registers."""
        size = self.word.bits // 8
        most = WIDEST // size if size == 4 else 1
        for first in range(0, len(self.regs), most):
            yield first * size, self.regs[first : first + most]

    def load(
        self, pointer: Any, offset: int = 0, *, space: str = "global", pred: Any = None
    ) -> None:
        """Load from `pointer` + `offset`."""
        if space == "shared":
            self._source = pointer, offset, pred
        self._move(ptx.inst.ld, pointer, offset, space, pred)

    def again(self) -> Words:
        """Return the same elements: loaded again where they are in shared memory.

        So nothing is held in registers across a reduction.
        """
        if self._source is None:
            return self
        words = Words(self.dtype, self.count, self.fill)
        pointer, offset, pred = self._source
        words.load(pointer, offset, space="shared", pred=pred)
        return words

    def store(self, pointer: Any, offset: int = 0, *, pred: Any = None) -> None:
        """Store to `pointer` + `offset` in global memory."""
        self._move(ptx.inst.st, pointer, offset, "global", pred)

    def load_each(self, pointer: Any, offset: int, guards: Sequence[Any]) -> None:
        """Load the elements one by one, each where its guard holds, from global memory."""
        places = self._places(pointer, offset)
        if self.word is f32:
            for value, place, guard in zip(self.regs, places, guards, strict=True):
                ptx.inst.ld.global_.b32(value, place, pred=guard)
            return
        bits = _bits(self.dtype, 0.0 if self.fill is None else self.fill)
        halves = [reg.scalar(b16, init=bits) for _ in places]
        for half, place, guard in zip(halves, places, guards, strict=True):
            ptx.inst.ld.global_.b16(half, place, pred=guard)
        for index, word in enumerate(self.regs):
            ptx.inst.mov.b32(word, halves[2 * index : 2 * index + 2])

    def store_each(self, pointer: Any, offset: int, guards: Sequence[Any]) -> None:
        """Store the elements one by one, each where its guard holds, to global memory."""
        places = self._places(pointer, offset)
        values = self.regs
        if self.word is not f32:
            values = list(reg.array(b16, self.count).regs())
            for index, word in enumerate(self.regs):
                ptx.inst.mov.b32(values[2 * index : 2 * index + 2], word)
        store = ptx.inst.st.global_.b32 if self.word is f32 else ptx.inst.st.global_.b16
        for value, place, guard in zip(values, places, guards, strict=True):
            store(place, value, pred=guard)

    def _places(self, pointer: Any, offset: int) -> list[Any]:
        """Return the address of each element; a word has one of 32 or two of 16 bits."""
        if self.word is b16:
            raise ValueError("one by one only where words are whole")
        size = self.dtype.bits // 8
        return [ptx.addr(pointer, offset + index * size) for index in range(self.count)]

    def _move(self, moves: Any, pointer: Any, offset: int, space: str, pred: Any) -> None:
        form = getattr(moves, "global_" if space == "global" else space)
        for shift, piece in self._pieces():
            vector = getattr(form, f"v{len(piece)}") if len(piece) > 1 else form
            instruction = getattr(vector, f"b{self.word.bits}")
            place = ptx.addr(pointer, offset + shift)
            values = piece if len(piece) > 1 else piece[0]
            operands = (values, place) if moves is ptx.inst.ld else (place, values)
            instruction(*operands, pred=pred)

    def floats(self) -> list[Any]:
        """Return the elements as f32; those of f32 are the registers themselves."""
        if self.dtype is f32:
            return self.regs
        values: list[Any] = []
        for word in self.regs:
            values += _unpacked(self.dtype, word, self.word)
        return values

    def set(self, values: Sequence[Any]) -> None:
        """Round f32 values to the elements."""
        if self.dtype is f32:
            for each, value in zip(self.regs, values, strict=True):
                ptx.inst.mov.f32(each, value)
            return
        per = self.word.bits // self.dtype.bits
        for index, word in enumerate(self.regs):
            _pack(self.dtype, word, values[index * per : (index + 1) * per])


def _bits(dtype: Any, value: float) -> int:
    if dtype is f16:
        return int.from_bytes(struct.pack("<e", value), "little")
    bits = int.from_bytes(struct.pack("<f", value), "little")
    return bits if dtype is f32 else bits >> 16


def _unpacked(dtype: Any, word: Any, kind: Any) -> list[Any]:
    if kind is b16:
        value = reg.scalar(f32)
        if dtype is f16:
            ptx.inst.cvt.f32.f16(value, word)
        else:
            ptx.inst.mov.b32(value, [reg.scalar(b16, init=0), word])
        return [value]
    low, high = reg.scalar(f32), reg.scalar(f32)
    if dtype is bf16:  # the upper half of an f32
        ptx.inst.shl.b32(low, word, 16)
        ptx.inst.and_.b32(high, word, 0xFFFF0000)
    else:
        halves = reg.array(b16, 2).regs()
        ptx.inst.mov.b32(halves, word)
        ptx.inst.cvt.f32.f16(low, halves[0])
        ptx.inst.cvt.f32.f16(high, halves[1])
    return [low, high]


def _pack(dtype: Any, word: Any, values: Sequence[Any]) -> None:
    if dtype.bits == 8:  # fp8 saturates: there is no infinity in e4m3
        convert = getattr(ptx.inst.cvt.rn.satfinite, f"{dtype.name}x2").f32
        pairs = [
            convert(reg.scalar(b16), values[each + 1], values[each])
            for each in range(0, len(values), 2)
        ]
        if len(pairs) == 1:
            ptx.inst.mov.b16(word, pairs[0])
        else:
            ptx.inst.mov.b32(word, pairs)
    elif len(values) == 2:
        getattr(ptx.inst.cvt.rn, f"{dtype.name}x2").f32(word, values[1], values[0])
    else:
        getattr(ptx.inst.cvt.rn, dtype.name).f32(word, values[0])


def total_of(values: Sequence[Any], init: float = 0.0) -> Any:
    """Return the sum of f32 registers, by two chains."""
    sums = [reg.scalar(f32, init=init), reg.scalar(f32, init=0.0)]
    for index, value in enumerate(values):
        ptx.inst.add.f32(sums[index % 2], sums[index % 2], value)
    ptx.inst.add.f32(sums[0], sums[0], sums[1])
    return sums[0]


def dot(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Return the sum of products of f32 registers, by two chains."""
    sums = [reg.scalar(f32, init=0.0), reg.scalar(f32, init=0.0)]
    for index, (a, b) in enumerate(zip(left, right, strict=True)):
        ptx.inst.fma.rn.f32(sums[index % 2], a, b, sums[index % 2])
    ptx.inst.add.f32(sums[0], sums[0], sums[1])
    return sums[0]


def largest_of(values: Sequence[Any]) -> Any:
    """Return the largest of f32 registers, but for those that are NaN."""
    largest = reg.scalar(f32, init=-math.inf)
    for value in values:
        ptx.inst.max.f32(largest, largest, value)
    return largest


def exponential(result: Any, value: Any, shift: Any) -> None:
    """Take exp(value - shift); the difference first, so that large values lose nothing."""
    ptx.inst.sub.f32(result, value, shift)
    ptx.inst.mul.f32(result, result, LOG2_E)
    ptx.inst.ex2.approx.ftz.f32(result, result)


def sigmoid(value: Any) -> Any:
    """Return 1 / (1 + exp(-value))."""
    result = reg.scalar(f32)
    ptx.inst.mul.f32(result, value, -LOG2_E)
    ptx.inst.ex2.approx.ftz.f32(result, result)
    ptx.inst.add.f32(result, result, 1.0)
    ptx.inst.rcp.approx.ftz.f32(result, result)
    return result
