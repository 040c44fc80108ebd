# SPDX-License-Identifier: Apache-2.0
"""What a kernel body sees in place of its tensors, and the trace it is running in.

Nothing here holds data or an address: a body runs once, at trace time, with these placeholders.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyptx import _core

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
    type and layout.
    """

    __slots__ = ("dtype", "layout", "name", "shape")

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
