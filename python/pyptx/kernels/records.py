# SPDX-License-Identifier: Apache-2.0
"""What autograd keeps of a call of the library: a node on the caller's tensors.

The forward pass calls the entry again, which launches, since nothing is recorded inside of a node.
The backward pass gives the tensors the shapes that the kernels have, and the gradients back those
of the caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyptx._call.autograd import DifferentiableKernel


class View(NamedTuple):
    """How a tensor of the caller's is one of a kernel's: turned, then reshaped."""

    turned: bool
    given: tuple[int, ...]
    taken: tuple[int, ...]

    def taken_of(self, tensor: Any) -> Any:
        """Return the kernel's tensor."""
        tensor = tensor.mT if self.turned else tensor
        return tensor if self.taken == tuple(tensor.shape) else tensor.reshape(self.taken)

    def given_of(self, tensor: Any) -> Any:
        """Return the caller's tensor."""
        if self.turned:
            return tensor.mT
        return tensor if self.given == self.taken else tensor.reshape(self.given)


class Record:
    """Calls with gradients of one kind: one pair of kernels, shapes and options."""

    __slots__ = ("absent", "call", "inputs", "options", "outputs", "pair", "traced")

    def __init__(
        self,
        pair: DifferentiableKernel,
        views: tuple[Sequence[View | None], Sequence[View]],
        call: Callable[..., Any],
        traced: Callable[..., Any],
        options: Mapping[str, Any],
    ) -> None:
        given, outputs = views
        self.pair = pair
        self.inputs = tuple(view for view in given if view is not None)
        self.absent = tuple(index for index, view in enumerate(given) if view is None)
        self.outputs = tuple(outputs)
        self.call = call  # where nothing is recorded
        self.traced = traced  # where torch.func has something to say
        self.options = dict(options)

    def __call__(self, *arrays: Any) -> Any:
        """Call, and record it. Nobody differentiates forward: the entry has seen to that."""
        apply, is_transformed = _of_torch()
        if is_transformed():
            return self.traced(*arrays, **self.options)
        return apply(self, *arrays)

    def kept(self, arrays: tuple[Any, ...], results: Any) -> list[Any]:
        """Return what the backward pass needs, as the caller has it."""
        present = [array for array in arrays if array is not None] if self.absent else arrays
        return self.pair.kept(present, results)

    def gradients(self, saved: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """Return the gradients of all arguments, as the caller has them."""
        pair, every = self.pair, (*self.inputs, *self.outputs)
        taken = [every[i].taken_of(each) for i, each in zip(pair.saved, saved, strict=True)]
        dense = [
            view.taken_of(grad) for view, grad in zip(self.outputs, pair.dense(grads), strict=True)
        ]
        found = pair.gradients(taken, dense)
        given = [view.given_of(g) for view, g in zip(self.inputs, found, strict=False)]
        given += [None] * (len(self.inputs) - len(given))
        for index in self.absent:
            given.insert(index, None)
        return given


@functools.cache
def _of_torch() -> tuple[Callable[..., Any], Callable[[], bool]]:
    """Return what makes a node, once torch is there, and what says that torch.func is at work."""
    import torch

    class KernelCall(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, record: Record, *arrays: Any) -> Any:
            results = record.call(*arrays, **record.options)
            ctx.save_for_backward(*record.kept(arrays, results))
            ctx.record = record
            return results

        # Not once_differentiable, for the reason of `_call.autograd.KernelFunction`.
        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return (None, *ctx.record.gradients(ctx.saved_tensors, grads))

    # What Function.apply() calls after it has looked for torch.func, in Python.
    apply = super(torch.autograd.Function, KernelCall).apply
    return apply, torch._C._are_functorch_transforms_active
