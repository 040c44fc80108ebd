# SPDX-License-Identifier: Apache-2.0
"""What a kernel body sees in place of its tensors, and the trace it is running in.

Nothing here holds data or an address: a body runs once, at trace time, with these placeholders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyptx import _core
from pyptx._call.scalars import declared_type
from pyptx.specs import Layout


@contextmanager
def active_trace(trace: Any) -> Iterator[None]:
    """Make `trace` the one that bodies on this thread emit into."""
    trace.enter()
    try:
        yield
    finally:
        trace.leave()


class TensorSpec:
    """Placeholder for a tensor argument at trace time.

    Carries the parameter's name and, where the specs and the call give them, its shape, element
    type and layout. A size that the launch brings (`kernel(dynamic=...)`) is a register in `shape`;
    `divisors` says what each size is a multiple of: itself, or what `multiple_of` promises.
    `strides`, in elements, are registers where a launch brings them (`Tile(strides="dynamic")`),
    but for the last, which is 1.
    """

    __slots__ = ("divisors", "dtype", "layout", "name", "shape")

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...] | None = None,
        dtype: Any = None,
        layout: Layout | None = None,
    ) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.layout = layout
        self.divisors: tuple[int, ...] | None = None

    @property
    def strides(self) -> Any:
        """Elements from one index to the next, for each dimension; None where no shape is known.

        Those of a dense tensor are products of its sizes.
        """
        if self.shape is None:
            return None
        is_column = self.layout is Layout.COL
        sizes = self.shape if is_column else self.shape[::-1]  # the contiguous one first
        strides: list[Any] = []
        for index in range(len(sizes)):
            outer = sizes[index - 1] * strides[-1] if index > 1 else sizes[0]
            strides.append(outer if index else 1)
        return tuple(strides if is_column else strides[::-1])

    def ptr(self, *indices: Any) -> Any:
        """Return the global address of an element, `X.ptr(i, j)`, in a fresh 64-bit register.

        Indices are numbers or integer registers; those left out are 0. Shape, strides and element
        type are those of the Tile, and the sum has 64 bits whatever the indices have. As an operand
        of ld and st, `ptx.at(X, i, j)` is the same without a register for what is a number.
        """
        return _core.ptx.ptr(self, *indices)

    def counted(self) -> tuple[int, Any, Any, bool] | None:
        """Bits of an element, sizes, strides that are no products of them, and the order.

        None where the Tile does not say them all.
        """
        if self.shape is None or self.dtype is None:
            return None
        return self.dtype.bits, self.shape, (), self.layout is Layout.COL

    def tma_desc(self) -> Any:
        """Return the TMA descriptor of this tensor, as the `src` or `dst` of a bulk tensor copy.

        Inside a trace this is a 64-bit register with the descriptor's address; the first use
        adds the parameter `<name>_tma_desc` and its prologue. Outside a trace it is a
        `TmaDescriptorHandle`.
        """
        trace = _core.active_trace()
        return TmaDescriptorHandle(self) if trace is None else trace.tensor_map(self.name)

    def __repr__(self) -> str:
        """Return the call that makes this placeholder."""
        dtype = getattr(self.dtype, "name", self.dtype)
        return f"TensorSpec({self.name!r}, shape={self.shape}, dtype={dtype}, layout={self.layout})"


class SizedTensor(TensorSpec):
    """The placeholder of a tensor some of whose sizes or strides are given as names.

    They are parameters of the launch, and registers here, loaded where the kernel begins.
    """

    __slots__ = ("_kinds", "_sizes", "_strides")

    def __init__(
        self, parameters: Sequence[tuple[str, str]], strides: tuple[str, ...], *args: Any
    ) -> None:
        self._kinds = {name: declared_type(kind) for kind, name in parameters}
        self._strides = strides
        self._sizes: tuple[int | str, ...] | None = None
        super().__init__(*args)

    @property
    def shape(self) -> Any:
        """The sizes, with registers in place of names."""
        return None if self._sizes is None else tuple(map(self._value, self._sizes))

    @shape.setter
    def shape(self, sizes: Any) -> None:
        self._sizes = sizes

    @property
    def strides(self) -> Any:
        """The strides, with registers in place of names."""
        if not self._strides:
            return super().strides
        return (*map(self._value, self._strides), 1)

    def counted(self) -> tuple[int, Any, Any, bool] | None:
        """Bits of an element, sizes, strides that a launch brings, and the order."""
        found = super().counted()
        if found is None or not self._strides:
            return found
        return found[0], found[1], self.strides, found[3]

    def _value(self, size: int | str) -> Any:
        trace = _core.active_trace()
        if trace is None or not isinstance(size, str):
            return size
        return trace.launch_value(self._kinds[size], size)


class TmaDescriptorHandle:
    """Symbolic handle for the TMA descriptor of a tensor, outside a trace."""

    __slots__ = ("name", "tensor")

    def __init__(self, tensor: TensorSpec) -> None:
        self.tensor = tensor
        self.name = f"{tensor.name}_desc"

    def __str__(self) -> str:
        """Return the name that stands for it in PTX."""
        return self.name

    def __repr__(self) -> str:
        """Which tensor it describes."""
        return f"TmaDescriptorHandle({self.tensor!r})"


# What errors call the classes by: the module that authors know them from.
TensorSpec.__module__ = TmaDescriptorHandle.__module__ = "pyptx.kernel"
