# SPDX-License-Identifier: Apache-2.0
"""What a kernel body sees in place of its tensors, and the trace it is running in.

Nothing here holds data or an address: a body runs once, at trace time, with these placeholders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyptx import _core
from pyptx._call.scalars import declared_type

if TYPE_CHECKING:
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
    """The placeholder of a tensor some of whose sizes the launch brings: given as names."""

    __slots__ = ("_kinds", "_sizes")

    def __init__(self, parameters: Sequence[tuple[str, str]], *args: Any) -> None:
        self._kinds = {name: declared_type(kind) for kind, name in parameters}
        self._sizes: tuple[int | str, ...] = ()
        super().__init__(*args)

    @property
    def shape(self) -> Any:
        """The sizes: registers in place of names, which are loaded where the kernel begins."""
        trace = _core.active_trace()
        if trace is None:
            return self._sizes
        return tuple(
            trace.launch_value(self._kinds[size], size) if isinstance(size, str) else size
            for size in self._sizes
        )

    @shape.setter
    def shape(self, sizes: Any) -> None:
        self._sizes = sizes


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
