# SPDX-License-Identifier: Apache-2.0
"""Strides that a launch brings: raw parameters named by tensor and dimension, `X_stride0`.

Values of a call, and no part of a trace. What a tensor's strides may be is checked in C++, where
arrays are bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyptx import _core
from pyptx._call.refusals import refuse
from pyptx.specs import Tile

Strides = tuple[int, ...]


def spanned(shape: Sequence[int], strides: Sequence[int], size: int) -> int:
    """Return the steps from an array's first element to the end of its last, of that size."""
    if 0 in shape:
        return 0
    return sum((n - 1) * abs(step) for n, step in zip(shape, strides, strict=True)) + size


class LaunchStrides:
    """The strides that a kernel's Tiles leave to the launch; all but each tensor's last, 1."""

    def __init__(
        self,
        kernel: str,
        tensors: Sequence[str],
        specs: Sequence[Tile],
        taken: Mapping[str, str],
    ) -> None:
        #: For each tensor the names of its strides; () where it is dense.
        self.names = tuple(
            tuple(f"{tensor}_stride{axis}" for axis in range(spec.rank - 1)) if spec.strides else ()
            for tensor, spec in zip(tensors, specs, strict=False)
        )
        self.every = tuple(name for names in self.names for name in names)
        for name in self.every:
            if name in taken:
                refuse(
                    "DeclarationValue",
                    f"kernel {kernel!r}: {taken[name]} {name!r}",
                    "has the name of a stride that a launch brings; rename it",
                )

    def of(
        self, given: Sequence[Sequence[float] | None], shapes: Sequence[tuple[int, ...]]
    ) -> tuple[Strides, ...]:
        """Return the strides of tensors that leave them to the launch; () of the others.

        Where none are given the tensor is dense, as those behind the given ones, yet to be made.
        """
        every = [*given, *[None] * (len(shapes) - len(given))]
        return tuple(
            _core.row_strides(shape, None if strides is None else [int(x) for x in strides])
            if names
            else ()
            for names, shape, strides in zip(self.names, shapes, every, strict=True)
        )

    def values(self, strides: Sequence[Strides]) -> dict[str, int]:
        """Return the strides of a launch by the names of their parameters."""
        return {
            name: stride
            for names, values in zip(self.names, strides, strict=True)
            for name, stride in zip(names, values, strict=False)
        }


def with_gaps(strides: Sequence[Strides], shapes: Sequence[tuple[int, ...]]) -> tuple[Strides, ...]:
    """Return the strides of tensors that are not dense; () of the others."""
    return tuple(
        found if found != _core.row_strides(shape) else ()
        for found, shape in zip(strides, shapes, strict=True)
    )
