# SPDX-License-Identifier: Apache-2.0
"""Random tensor maps within the rules of the driver, and coordinates inside and outside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from record.stream import Stream

TILE = 8192  # bytes of shared memory for one box
TENSOR = 1 << 17  # bytes of global memory for one tensor
SIZES = {
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f64": 8,
    "bf16": 2, "f32.ftz": 4, "tf32": 4, "tf32.ftz": 4,
}  # fmt: skip
FLOATS = ("f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz")
SPANS = {"none": 1 << 20, "32B": 32, "64B": 64, "128B": 128}
SLICES = {"16B": 16, "32B": 32}


class Dice:
    """Small numbers from a stream."""

    def __init__(self, name: str) -> None:
        self._stream = Stream(name)

    def between(self, low: int, high: int) -> int:
        """Return a number from low to high, both included."""
        return low + int(self._stream.below(high - low + 1, 1)[0])

    def pick(self, options: Any) -> Any:
        """Return one of them."""
        listed = list(options)
        return listed[self.between(0, len(listed) - 1)]


@dataclass(frozen=True)
class MapCase:
    """One map with the coordinates of one copy."""

    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str
    oob_nan: bool
    coordinates: tuple[int, ...]
    offset: int  # of the tile in shared memory
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0
    im2col_offsets: tuple[int, ...] = ()
    interleave: str = "none"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def nbytes(self) -> int:
        """The bytes of the box."""
        if self.pixels:
            return self.channels * self.pixels * SIZES[self.dtype]
        if self.interleave != "none":
            return self._slices
        total = SIZES[self.dtype] * self.box[0]
        for edge, step in zip(self.box[1:], self.element_strides[1:], strict=True):
            total *= -(-edge // step)
        return total

    @property
    def _slices(self) -> int:
        """The bytes of an interleaved box: one slice of channels, of all other dimensions."""
        total = SLICES[self.interleave]
        for number, (edge, step) in enumerate(zip(self.box, self.element_strides, strict=True)):
            total *= 1 if number == self.rank - 2 else -(-edge // step)
        return total

    @property
    def span(self) -> int:
        """The bytes of shared memory that the box spans: a swizzle's rows are as wide as it is."""
        if self.interleave != "none":
            return self.nbytes
        row = SIZES[self.dtype] * (self.channels or self.box[0])
        pitch = row if self.swizzle == "none" else SPANS[self.swizzle]
        return self.nbytes // row * pitch

    @property
    def words(self) -> str:
        """The case in words, which are its key."""
        text = f"{self.dtype} dims {self.dims} strides {self.strides} {self.swizzle}"
        if self.pixels:
            text += f" im2col {self.lower} {self.upper} {self.channels}x{self.pixels}"
            text += f"+{self.im2col_offsets}"
        else:
            text += f" box {self.box}"
        text += f" every {self.element_strides} at {self.coordinates}+{self.offset}"
        if self.interleave != "none":
            text += f" in slices of {self.interleave}"
        return text + (" nan" if self.oob_nan else "")

    def make(self) -> Any:
        """Return the map as the package describes it."""
        from pyptx import _core

        made = _core.TensorMap(
            self.dtype, list(self.dims), list(self.strides), list(self.box), self.swizzle,
            self.oob_nan, list(self.element_strides), self.interleave,
        )  # fmt: skip
        if self.pixels:
            made.set_im2col(list(self.lower), list(self.upper), self.channels, self.pixels)
        assert made.problem() is None, (made.problem(), self.words)
        return made


def _tensor(dice: Dice, dims: list[int], size: int) -> tuple[int, ...] | None:
    """Return strides with some padding, or nothing when the tensor is too large."""
    strides: list[int] = []
    span = dims[0] * size
    for dim in dims[1:]:
        span = -(-span // 16) * 16 + 16 * dice.pick((0, 0, 1, 3))
        strides.append(span)
        span *= dim
    return tuple(strides) if span <= TENSOR else None


def _inner(dice: Dice, dtype: str, swizzle: str) -> int:
    """Return elements of dimension 0 of a box: a multiple of 16 bytes within the swizzle's span."""
    size = SIZES[dtype]
    most = min(256 * size, SPANS[swizzle], 512) // 16
    return 16 * dice.between(1, most) // size


def _first(dice: Dice, dtype: str, low: int, high: int) -> int:
    """Return a coordinate of dimension 0: a multiple of 16 bytes, or the device faults."""
    step = 16 // SIZES[dtype]
    return step * dice.between(-(-low // step), high // step)


def tiled(dice: Dice, rank: int, dtype: str, *, inside: bool = False) -> MapCase:
    """Return a tiled map; `inside`: no coordinate is negative, as stores and reductions want."""
    while True:
        swizzle = dice.pick(SPANS)
        box = [_inner(dice, dtype, swizzle)]
        dims = [dice.between(1, 2 * box[0] + 9)]
        element_strides = [1]
        for _ in range(1, rank):
            box.append(dice.between(1, 12 if rank < 4 else 5))
            dims.append(dice.between(1, 20 if rank < 4 else 8))
            element_strides.append(dice.pick((1, 1, 1, 2, 3)))
        strides = _tensor(dice, dims, SIZES[dtype])
        if strides is None:
            continue
        low = [0 if inside else -edge - 1 for edge in box]
        at = [dice.between(first, dim + 1) for first, dim in zip(low, dims, strict=True)]
        at[0] = _first(dice, dtype, low[0], dims[0] + 16)
        nan = dtype in FLOATS and not inside and dice.between(0, 2) == 0
        offset = 128 * dice.pick((0, 0, 0, 1, 5))
        case = MapCase(
            dtype, tuple(dims), strides, tuple(box), tuple(element_strides), swizzle, nan,
            tuple(at), offset,
        )  # fmt: skip
        if case.span + case.offset <= TILE - 16:
            return case


def im2col(dice: Dice, rank: int, dtype: str) -> MapCase:
    """Return an im2col map whose filter base lies inside the bounding box."""
    while True:
        swizzle = dice.pick(SPANS)
        channels = _inner(dice, dtype, swizzle)
        spatial = rank - 2
        dims = [dice.between(1, 2 * channels + 9)]
        dims += [dice.between(3, 14 if rank < 5 else 7) for _ in range(spatial)]
        dims.append(dice.between(1, 4))
        lower = tuple(dice.between(-2, 1) for _ in range(spatial))
        upper = tuple(dice.between(-2, 1) for _ in range(spatial))
        steps = [1, *(dice.pick((1, 1, 2)) for _ in range(spatial)), 1]
        strides = _tensor(dice, dims, SIZES[dtype])
        last = [dims[1 + i] - 1 + upper[i] for i in range(spatial)]
        if strides is None or any(a < b for a, b in zip(last, lower, strict=True)):
            continue
        base = [
            first + step * dice.between(0, (end - first) // step)
            for first, end, step in zip(lower, last, steps[1:], strict=False)
        ]
        at = [_first(dice, dtype, -16, dims[0] + 16), *base, dice.between(0, dims[-1] - 1)]
        nan = dtype in FLOATS and dice.between(0, 2) == 0
        case = MapCase(
            dtype, tuple(dims), strides, (1,) * rank, tuple(steps), swizzle, nan, tuple(at), 0,
            lower, upper, channels, dice.between(1, 48),
            tuple(dice.between(0, 2) for _ in range(spatial)),
        )  # fmt: skip
        if case.span + case.offset <= TILE - 16:
            return case


def interleaved(dice: Dice, rank: int, dtype: str, *, inside: bool = False) -> MapCase:
    """Return a tiled map with channels in slices, which dimension 0 and the last but one count."""
    while True:
        name = dice.pick(SLICES)
        swizzle = "32B" if name == "32B" else dice.pick(SPANS)
        step = 16 // SIZES[dtype]
        box = [step * dice.between(1, 2 if step > 4 else 8)]
        box += [dice.between(1, 4) for _ in range(1, rank)]
        dims = [dice.between(1, 2 * box[0] + 9)]
        dims += [dice.between(1, 8) for _ in range(1, rank)]
        steps = [dice.pick((1, 1, 1, 2, 3)) for _ in range(rank)]
        span = dims[0] * SLICES[name]
        strides = []
        for dim in dims[1:]:
            span += SLICES[name] * dice.pick((0, 0, 1, 3))
            strides.append(span)
            span *= dim
        low = [0 if inside else -edge - 1 for edge in box]
        at = [dice.between(first, dim + 1) for first, dim in zip(low, dims, strict=True)]
        nan = dtype in FLOATS and not inside and dice.between(0, 2) == 0
        case = MapCase(
            dtype, tuple(dims), tuple(strides), tuple(box), tuple(steps), swizzle, nan, tuple(at),
            1024 * dice.pick((0, 0, 1)), interleave=name,
        )  # fmt: skip
        if span <= TENSOR and case.span + case.offset <= TILE - 16:
            return case
