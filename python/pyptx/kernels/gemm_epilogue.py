# SPDX-License-Identifier: Apache-2.0
"""What happens to the accumulators of a tile: bias, activation, residual, and the way to memory.

An accumulator holds 64 rows of a tile. A thread has rows r and r + 8 of them (r by its warp and its
lane over four) and in every 8 columns the two from 2 * (lane % 4) on; register 4 * j + 2 * h + e is
row r + 8 * h, column 8 * j + 2 * (lane % 4) + e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.kernels.elements import Words
from pyptx.kernels.gemm_config import GemmConfig, GemmProblem, store_width
from pyptx.kernels.gemm_values import activate, pack
from pyptx.types import from_name, u32, u64


class Thread:
    """The place of a thread in the accumulators of its warpgroup."""

    def __init__(self, tid: Any) -> None:
        self.lane = tid & 31
        self.group = (tid >> 7) - 1  # warpgroups that multiply come after the producer's
        self.warp = (tid >> 5) & 3
        self.row = self.warp * 16 + (self.lane >> 2)
        self.column = (self.lane & 3) * 2


@dataclass(frozen=True)
class Output:
    """C and what is added to it: sizes and addresses, None for what is not there."""

    problem: GemmProblem
    m: Any  # numbers, or sizes of the launch
    n: Any
    c: Any  # the tensor map where tiles are stored by TMA, else the address
    bias: Any = None
    residual: Any = None
    n_divisor: int = 1  # what the columns are a multiple of

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return from_name(self.problem.out).bits // 8

    def element(self, base: Any, row: Any, column: Any, batch: tuple[Any, ...]) -> Any:
        """Return the address of an element of a matrix that lies as C does."""
        offset = reg.scalar(u64)
        ptx.inst.mul.wide.u32(offset, row, self.n)
        if batch:
            matrix = reg.scalar(u64)
            ptx.inst.mul.wide.u32(matrix, reg.from_(self.m, u32), self.n)
            ptx.inst.mad.lo.u64(offset, matrix, reg.from_(batch[0], u64), offset)
        return base + (offset << (self.size.bit_length() - 1)) + column * self.size

    def below(self, place: Any, rows: int) -> tuple[Any, int]:
        """Return a pointer, and bytes behind it, to the element so many rows below a place."""
        if isinstance(self.n, int):
            return place, rows * self.n * self.size
        there = reg.scalar(u64)
        ptx.inst.mad.wide.u32(there, self.n, rows * self.size, place)
        return there, 0


class TileStore:
    """Stores tiles through shared memory and TMA: 16 rows of a warp, 128 bytes at most, at a time.

    Warps work alone: no barrier of the warpgroup is needed, and while a copy is under way the next
    block is written into the next of `store_stages` places. What is outside C, TMA leaves out.
    """

    def __init__(self, config: GemmConfig, output: Output, thread: Thread) -> None:
        self.config, self.output, self.thread = config, output, thread
        self.width = store_width(config, output.problem.out)
        self.pitch = self.width * output.size
        blocks = config.parts * (config.tile[1] // config.owners // self.width)
        self.stages = config.store_stages if blocks % config.store_stages == 0 else 1
        self.block = 16 * self.pitch  # bytes
        dtype, swizzle = from_name(output.problem.out), f"{self.pitch}B"
        shape = (config.warpgroups * 4, self.stages, 16, self.width)
        staged = smem.alloc(dtype, shape, swizzle=swizzle, align=1024, name="tile_c")
        lane = thread.lane
        warp = thread.group * 4 + thread.warp
        self.base = staged.address() + warp * (self.stages * self.block)
        if output.size == 2:
            # stmatrix: lanes 0-15 give the rows of the left 8 columns, 16-31 those of the right.
            offset = (lane & 15) * self.pitch + (lane >> 4) * 16
        else:
            offset = (lane >> 2) * self.pitch + (lane & 3) * 8
        # Blocks are as high as the swizzle's pattern, or twice: it is that of the lane throughout.
        self.line = self.base + smem.apply_swizzle(offset, swizzle)

    def store(self, accumulators: list[Any], origin: tuple[Any, Any, tuple[Any, ...]]) -> None:
        """Store the rows of a tile that begin at `origin`, 64 of each accumulator."""
        row, column, batch = origin
        for part, accumulator in enumerate(accumulators):
            self._store_part(accumulator, part, (row + 64 * part, column, batch))

    def _store_part(
        self, accumulator: Any, part: int, origin: tuple[Any, Any, tuple[Any, ...]]
    ) -> None:
        row, column, batch = origin
        n = len(accumulator) * 2
        before = part * (n // self.width)
        thread = self.thread
        extras = Extras(self.config, self.output, (row + thread.row, column + thread.column, batch))
        for index, first in enumerate(range(0, n, self.width)):
            stage = (before + index) % self.stages * self.block
            loaded = extras.load(first, self.width)  # under way while a place is waited for
            # The copy that read this place before has to be done with it.
            with ptx.if_(self.thread.lane == 0):
                ptx.cp.async_.bulk.wait_group(self.stages - 1, read=True)
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
            registers = accumulator[first // 2 : (first + self.width) // 2]
            extras.apply(registers, loaded)
            if self.output.size == 2:
                self._write_halves(registers, stage)
            else:
                self._write_floats(registers, stage)
            ptx.fence.proxy_async_shared_cta()
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
            with ptx.if_(self.thread.lane == 0):
                bulk = ptx.cp.async_.bulk
                copy = bulk.tensor.store_3d if batch else bulk.tensor.store_2d
                at = (column + first, row + self.thread.warp * 16, *batch)
                copy(dst=self.output.c, src=ptx.addr(self.base, stage), coord=at)
                bulk.commit_group()

    def _write_halves(self, registers: list[Any], stage: int) -> None:
        for pair in range(len(registers) // 8):  # 16 columns by one stmatrix
            values = registers[8 * pair : 8 * pair + 8]
            packed = [
                pack(self.output.problem.out, values[i], values[i + 1]) for i in range(0, 8, 2)
            ]
            place = self.line ^ (pair * 32) if pair else self.line
            ptx.stmatrix(smem=ptx.addr(place, stage), regs=packed)

    def _write_floats(self, registers: list[Any], stage: int) -> None:
        for j in range(len(registers) // 4):  # 8 columns
            place = self.line ^ (j * 32) if j else self.line
            for half in range(2):
                at = ptx.addr(place, stage + half * 8 * self.pitch)
                ptx.inst.st.shared.v2.f32(at, registers[4 * j + 2 * half : 4 * j + 2 * half + 2])

    def finish(self) -> None:
        """Wait for the copies under way: they read shared memory that ends with the CTA."""
        with ptx.if_(self.thread.lane == 0):
            ptx.cp.async_.bulk.wait_group(0, read=True)


class Extras:
    """Bias, activation and residual of a thread's elements, stored row by row.

    What is added is loaded without branch or guard, so that all loads of a block are under way
    together: an element outside C takes what one at its edge has, and is not stored.
    """

    def __init__(
        self, config: GemmConfig, output: Output, origin: tuple[Any, Any, tuple[Any, ...]]
    ) -> None:
        row, self.column, batch = origin
        self.output = output
        self.has_edge = output.n_divisor % (config.tile[1] * config.cluster[1]) != 0
        problem = output.problem
        if problem.residual:
            self.lines = [
                output.element(output.residual, (row + 8 * half).min(output.m - 1), 0, batch)
                for half in range(2)
            ]

    def load(self, first: int, width: int) -> list[tuple[list[Words], list[Words]]]:
        """Start the loads for `width` columns of the tile: biases and residuals of every eight."""
        problem = self.output.problem
        loaded: list[tuple[list[Words], list[Words]]] = []
        for shift in range(first, first + width, 8):
            column = self.column
            if self.has_edge and (problem.bias or problem.residual):
                # Rows are whole 16 bytes: two neighbours are inside or outside of them together.
                column, shift = (column + shift).min(self.output.n - 2), 0
            biases, residuals = [], []
            if problem.bias:
                biases = [_pair(problem.bias, self.output.bias, column, shift)] * 2
            if problem.residual:
                residuals = [_pair(problem.out, line, column, shift) for line in self.lines]
            loaded.append((biases, residuals))
        return loaded

    def apply(self, registers: list[Any], loaded: list[tuple[list[Words], list[Words]]]) -> None:
        """Work on the registers of the columns that `loaded` is for."""
        for j, (biases, residuals) in enumerate(loaded):
            values = registers[4 * j : 4 * j + 4]
            _add(values, biases)
            for value in values:
                activate(self.output.problem.activation, value)
            _add(values, residuals)


def _pair(dtype: str, line: Any, column: Any, shift: int) -> Words:
    """Start the load of two neighbours of a row."""
    words = Words(from_name(dtype), 2)
    size = words.bytes // 2
    words.load(line + column * size, shift * size)
    return words


def _add(values: list[Any], rows: list[Words]) -> None:
    """Add the neighbours of each row to its values."""
    more = [value for words in rows for value in words.floats()]
    for value, added in zip(values, more, strict=False):
        ptx.inst.add.f32(value, value, added)


class TransposedStore:
    """Stores tiles of C transposed (columns of a tile are rows of C) element by element.

    For few rows of C: what is written is little beside what was read.
    """

    def __init__(self, config: GemmConfig, output: Output, thread: Thread) -> None:
        self.output, self.thread = output, thread
        self.columns = config.tile[1] // config.owners

    def store(self, accumulators: list[Any], origin: tuple[Any, Any, tuple[Any, ...]]) -> None:
        """Store the rows of a tile that begin at `origin`, a column of C each."""
        row, column, batch = origin
        row, column = row + self.thread.row, column + self.thread.column
        for part, accumulator in enumerate(accumulators):
            for half in range(2):
                at = row + (64 * part + 8 * half)
                with ptx.if_(at < self.output.n):
                    self._store_row(accumulator, half, at, column, batch)

    def _store_row(
        self, accumulator: Any, half: int, row: Any, column: Any, batch: tuple[Any, ...]
    ) -> None:
        output, problem = self.output, self.output.problem
        dtype = from_name(problem.out)
        place = output.element(output.c, column, row, batch)
        # The columns of a tile that are this lane's, and are rows of C in some tile.
        most = output.m if isinstance(output.m, int) else self.columns
        shifts = [8 * j + e for j in range(self.columns // 8) for e in range(2) if 8 * j + e < most]
        guards = [column + shift < output.m for shift in shifts]
        bias, residuals = None, []
        if problem.bias:
            bias = Words(from_name(problem.bias), 1)
            bias.load(output.bias + row * bias.bytes)
        if problem.residual:
            residual = output.element(output.residual, column, row, batch)
            residuals = [Words(dtype, 1, 0.0) for _ in shifts]
            for words, shift, guard in zip(residuals, shifts, guards, strict=True):
                words.load(*output.below(residual, shift), pred=guard)
        (added,) = bias.floats() if bias else (None,)
        for index, shift in enumerate(shifts):
            value = accumulator[shift // 8 * 4 + 2 * half + shift % 8]
            if added is not None:
                ptx.inst.add.f32(value, value, added)
            activate(problem.activation, value)
            if residuals:
                ptx.inst.add.f32(value, value, residuals[index].floats()[0])
            words = Words(dtype, 1)
            words.set([value])
            words.store(*output.below(place, shift), pred=guards[index])

    def finish(self) -> None:
        """Nothing is under way."""
