# SPDX-License-Identifier: Apache-2.0
"""What a vector set is made of: launches of PTX text over buffers of bytes, and their parts.

A launch runs many cases; a part is the slice of a buffer that belongs to one instruction (or one
shape, one map), an array of results of `element` bytes each. Parts are recorded by key, so that
launches may be regrouped without recording anything anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Bytes: TypeAlias = Any  # a NumPy array of uint8

KEPT_BYTES = 256  # of results stored as they are, per part


@dataclass(frozen=True)
class Part:
    """The results of one instruction: `cases` elements of `element` bytes in a buffer."""

    key: str  # unique in its set: the instruction, or whatever names the cases
    buffer: int
    start: int
    element: int
    cases: int
    describe: Callable[[int], str] = lambda case: f"case {case}"  # a case's inputs, in words
    keep: int = 0  # cases stored as they are; 0: as many as fit KEPT_BYTES

    def kept(self) -> list[int]:
        """Return the numbers of the cases that are stored as they are, spread over all."""
        count = min(self.cases, self.keep or max(1, KEPT_BYTES // self.element))
        return [index * self.cases // count for index in range(count)]

    def of(self, buffers: Sequence[Bytes]) -> Bytes:
        """Return this part of what a launch left behind, one row per case."""
        span = buffers[self.buffer][self.start : self.start + self.cases * self.element]
        return span.reshape(self.cases, self.element)


@dataclass(frozen=True)
class Scalar:
    """A parameter of a kernel that is a number."""

    bits: int
    size: int


@dataclass(frozen=True)
class Map:
    """A parameter that is a tensor map over a buffer; `by_value`: 128 bytes in the block."""

    buffer: int
    map: Any  # _core.TensorMap
    by_value: bool = True


@dataclass
class Launch:
    """One kernel launch. Buffers hold what they start with; parameters default to their addresses.

    `image` takes the place of `ptx` for a kernel that was traced: see `traced`.
    `singles` makes smaller launches of the same parts, for when this one cannot be decoded.
    """

    name: str
    target: str
    buffers: list[Bytes]
    parts: list[Part]
    ptx: str = ""
    entry: str = "k"
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    dynamic_shared: int = 0
    params: list[int | Scalar | Map] | None = None
    image: Any = None
    singles: Callable[[], list[Launch]] | None = field(default=None, repr=False)

    def make_image(self) -> Any:
        """Return the kernel image that the package's own runtime launches."""
        if self.image is not None:
            return self.image
        from pyptx import _core

        plan = _core.LaunchPlan(
            self.entry, self.grid, self.block, self.cluster, self.dynamic_shared, len(self.buffers)
        )
        for param in self.params if self.params is not None else range(len(self.buffers)):
            if isinstance(param, int):
                plan.add_pointer(param)
            elif isinstance(param, Scalar):
                plan.add_scalar(param.bits, param.size)
            elif param.by_value:
                plan.add_map_value(param.buffer, param.map)
            else:
                plan.add_map_pointer(param.buffer, param.map)
        return _core.KernelImage(self.ptx, self.target, plan)


def traced(kernel: Any, arrays: Sequence[Any], outs: Sequence[Any], **template: Any) -> Any:
    """Return the image of a kernel written in the DSL, for NumPy arrays of these shapes.

    The buffers of its launch are the bytes of `arrays`, then of `outs`.
    """
    from pyptx._call import first_call

    inputs = [first_call.describe_numpy(array) for array in arrays]
    given = [first_call.describe_numpy(array) for array in outs]
    return first_call.prepare(
        kernel, kernel._refreshed().captures, inputs, given, template, kernel.arch
    ).image


class VectorSet(Protocol):
    """A named source of launches; the same launches whenever it is asked."""

    name: str
    about: str
    targets: tuple[str, ...]

    def launches(self, target: str) -> Iterator[Launch]:
        """Make the launches of one target."""
        ...
