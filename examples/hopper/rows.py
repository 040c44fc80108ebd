# SPDX-License-Identifier: Apache-2.0
"""One CTA, one row: how a row of f32 or f64 lies in a CTA's registers, and sums and maxima of it.

Each thread holds vectors of 16 bytes, a CTA's width apart, so that every load and store of a warp
is 512 contiguous bytes. A row that ends within such a width has guarded vectors. A CTA that takes
several rows leaves a part of the sums over columns; a second kernel adds the parts up in their
order, so that the same inputs always give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

THREADS = 128
WARPS = THREADS // 32
BYTES = 16  # of a vector
STRIDE = THREADS * BYTES  # between two vectors of a thread
PARTS = 128  # CTAs that share the rows where columns are summed


def of(instruction: Any, dtype: Any) -> Any:
    """Return the instruction's form for a type: `of(ptx.inst.add, f64)` is `ptx.inst.add.f64`."""
    return getattr(instruction, dtype.name)


def inverse_root(result: Any, value: Any) -> None:
    """Take one over the square root of a value, as exactly as its type deserves."""
    if value.dtype is f32:
        ptx.inst.rsqrt.approx.f32(result, value)
    else:  # rsqrt.approx.f64 has the digits of an f32
        ptx.inst.sqrt.rn.f64(result, value)
        ptx.inst.rcp.rn.f64(result, result)


class Row:
    """The row of length `n`, a whole number of vectors, that this CTA works on."""

    def __init__(self, n: int, dtype: Any = f32) -> None:
        self.dtype = dtype
        self.width = BYTES * 8 // dtype.bits  # elements of a vector
        if n < self.width or n % self.width != 0:
            raise ValueError(f"the length of a row is a multiple of {self.width}, not {n}")
        self.bytes = n * dtype.bits // 8
        self.vectors = n // self.width
        self.steps = -(-self.vectors // THREADS)
        self.tid = reg.from_(ptx.special.tid.x(), u32)
        self.offset = self.place(ptx.special.ctaid.x())

    def place(self, row: Any) -> Any:
        """Return the offset of this thread's first vector in a row, from the matrix's start."""
        offset = reg.scalar(u64)
        ptx.inst.mul.wide.u32(offset, row, self.bytes)
        offset += self.tid * BYTES
        return offset

    def inside(self, step: int) -> Any:
        """Return the guard of a step's vector; None where every thread's lies inside."""
        first = step * THREADS
        return None if first + THREADS <= self.vectors else self.tid < self.vectors - first

    def load(self, pointer: Any, outside: float = 0.0) -> list[Any]:
        """Load this thread's elements; those beyond the row are `outside`."""
        values = reg.array(self.dtype, self.steps * self.width).regs()
        for step, vector in self.split(values):
            guard = self.inside(step)
            if guard is not None:
                for value in vector:
                    of(ptx.inst.mov, self.dtype)(value, outside)
            load = self._vectors(ptx.inst.ld.global_)
            load(vector, ptx.addr(pointer, step * STRIDE), pred=guard)
        return values

    def store(self, pointer: Any, values: list[Any]) -> None:
        """Store this thread's elements that are in the row."""
        for step, vector in self.split(values):
            place = ptx.addr(pointer, step * STRIDE)
            self._vectors(ptx.inst.st.global_)(place, vector, pred=self.inside(step))

    def split(self, values: list[Any]) -> Iterator[tuple[int, list[Any]]]:
        """Return the steps, each with the vector of it."""
        for step in range(self.steps):
            yield step, values[step * self.width : (step + 1) * self.width]

    def _vectors(self, instruction: Any) -> Any:
        return of(getattr(instruction, f"v{self.width}"), self.dtype)

    def reduce(self, value: Any, of_warp: Callable[[Any], Any], combine: Any) -> Any:
        """Reduce one value of every thread to one that every thread has.

        Each reduction has words of its own: nobody need wait until those of the one before are
        read. In a loop over rows that takes two reductions or more.
        """
        partials = smem.alloc(self.dtype, (WARPS,))
        of_warp(value)
        with ptx.if_((self.tid & 31) == 0):
            partials[self.tid >> 5] = value
        ptx.bar.sync(0)
        total = partials[0]
        for warp in range(1, WARPS):
            combine(total, total, partials[warp])
        return total

    def sum(self, value: Any) -> Any:
        """Add up one value of every thread."""
        return self.reduce(value, ptx.warp.reduce_sum, of(ptx.inst.add, self.dtype))

    def max(self, value: Any) -> Any:
        """Find the largest of the values of all threads."""
        return self.reduce(value, ptx.warp.reduce_max, of(ptx.inst.max, self.dtype))


def build_column_sums(parts: int, N: int, dtype: Any = f32, arch: str = "sm_90a") -> Kernel:
    """Build y[n] = x[0, n] + x[1, n] + ... for a (parts, N) input, one thread a column."""
    size = dtype.bits // 8

    @kernel(
        in_specs=(Tile(parts, N, dtype),),
        out_specs=(Tile(N, dtype),),
        grid=(-(-N // THREADS), 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def column_sums(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        column = reg.from_(ptx.special.ctaid.x(), u32) * THREADS
        column += reg.from_(ptx.special.tid.x(), u32)
        ptx.ret(pred=column >= N)
        px += column * size
        py += column * size
        total = reg.scalar(dtype, init=0.0)
        value = reg.scalar(dtype)
        with ptx.range_(0, parts):
            of(ptx.inst.ld.global_, dtype)(value, ptx.addr(px))
            of(ptx.inst.add, dtype)(total, total, value)
            px += N * size
        of(ptx.inst.st.global_, dtype)(ptx.addr(py), total)
        ptx.ret()

    return column_sums
