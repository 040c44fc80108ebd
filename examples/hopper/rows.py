# SPDX-License-Identifier: Apache-2.0
"""One CTA, one row: how a row of f32 lies in the registers of a CTA, and sums and maxima over it.

Each thread holds vectors of four neighbouring elements, a CTA's width apart, so that every load and
store of a warp is 512 contiguous bytes. A row that ends within such a width has guarded vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import f32, u32, u64

THREADS = 128
WARPS = THREADS // 32
VECTOR = 4
STRIDE = THREADS * VECTOR * 4  # bytes between two vectors of a thread


class Row:
    """The row of length `n`, a multiple of 4, that this CTA works on."""

    def __init__(self, n: int) -> None:
        if n < VECTOR or n % VECTOR != 0:
            raise ValueError(f"the length of a row is a multiple of {VECTOR}, not {n}")
        self.vectors = n // VECTOR
        self.steps = -(-self.vectors // THREADS)
        self.tid = reg.from_(ptx.special.tid.x(), u32)
        self.partials = smem.alloc(f32, (WARPS,), name="partials")
        self.offset = reg.scalar(u64)  # of this thread's first vector, from the matrix's start
        ptx.inst.mul.wide.u32(self.offset, ptx.special.ctaid.x(), n * 4)
        self.offset += self.tid * (VECTOR * 4)

    def inside(self, step: int) -> Any:
        """Return the guard of a step's vector; None where every thread's lies inside."""
        first = step * THREADS
        return None if first + THREADS <= self.vectors else self.tid < self.vectors - first

    def load(self, pointer: Any, outside: float = 0.0) -> list[Any]:
        """Load this thread's elements; those beyond the row are `outside`."""
        values = reg.array(f32, self.steps * VECTOR).regs()
        for step, vector in self.split(values):
            guard = self.inside(step)
            if guard is not None:
                for value in vector:
                    ptx.inst.mov.f32(value, outside)
            ptx.inst.ld.global_.v4.f32(vector, ptx.addr(pointer, step * STRIDE), pred=guard)
        return values

    def store(self, pointer: Any, values: list[Any]) -> None:
        """Store this thread's elements that are in the row."""
        for step, vector in self.split(values):
            place = ptx.addr(pointer, step * STRIDE)
            ptx.inst.st.global_.v4.f32(place, vector, pred=self.inside(step))

    def split(self, values: list[Any]) -> Iterator[tuple[int, list[Any]]]:
        """Return the steps, each with the vector of it."""
        for step in range(self.steps):
            yield step, values[step * VECTOR : (step + 1) * VECTOR]

    def reduce(self, value: Any, of_warp: Callable[[Any], Any], combine: Any) -> Any:
        """Reduce one value of every thread to one that every thread has."""
        of_warp(value)
        ptx.bar.sync(0)  # the partials of the reduction before have been read
        with ptx.if_((self.tid & 31) == 0):
            self.partials[self.tid >> 5] = value
        ptx.bar.sync(0)
        total = self.partials[0]
        for warp in range(1, WARPS):
            combine(total, total, self.partials[warp])
        return total

    def sum(self, value: Any) -> Any:
        """Add up one value of every thread."""
        return self.reduce(value, ptx.warp.reduce_sum, ptx.inst.add.f32)

    def max(self, value: Any) -> Any:
        """Find the largest of the values of all threads."""
        return self.reduce(value, ptx.warp.reduce_max, ptx.inst.max.f32)
